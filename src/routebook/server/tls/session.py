"""TLS without sockets: one connection's records in and out, and where the server's contexts come from.

Like Java: three modes, a made-up certificate while nothing is configured (test mode), own PEM files otherwise, and
changed files are taken up while running. Unlike Java, files that cannot be used stop the start.
"""

import contextlib
import hashlib
import ssl
from pathlib import Path
from typing import Final, cast

from routebook.errors import ProtocolError, TlsError
from routebook.server.tls.contexts import MISMATCH, file_context, new_context, reason_of, self_signed_context
from routebook.settings import TlsSettings

TLS_HANDSHAKE_BYTE: Final = 0x16
_RECORD_BYTES: Final = 16384


class TlsSession:
    """One connection: ciphertext in, plaintext out, and back."""

    __slots__ = ("_incoming", "_names", "_outgoing", "_tls", "established", "finished")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._names: tuple[str, ...] | None = None
        self.established = False
        self.finished = False  # the peer said that it will send no more

    def receive(self, data: bytes) -> bytes:
        """Take ciphertext, give what plaintext it came to. What is to be sent in turn waits in `outgoing`."""
        self._incoming.write(data)
        plain = []
        try:
            if not self.established:
                self._tls.do_handshake()
                self.established = True
            while chunk := self._tls.read(_RECORD_BYTES):
                plain.append(chunk)
            self.finished = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.finished = True
        except ssl.SSLError as error:
            raise ProtocolError(f"TLS: {reason_of(error)}") from error
        return plain[0] if len(plain) == 1 else b"".join(plain)

    def send(self, plain: bytes) -> bytes:
        """Ciphertext of this and of all that waited."""
        view = memoryview(plain)
        while view:
            view = view[self._tls.write(view) :]
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """What TLS itself has to say: handshake, tickets, alerts."""
        return self._outgoing.read()

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """The common names, DNS names and URIs in the peer's verified certificate."""
        if self._names is None and self.established:
            self._names = self._read_names()
        return self._names or ()

    def _read_names(self) -> tuple[str, ...]:
        certificate = self._tls.getpeercert() or {}
        subject = cast("tuple[tuple[tuple[str, str], ...], ...]", certificate.get("subject", ()))
        others = cast("tuple[tuple[str, str], ...]", certificate.get("subjectAltName", ()))
        common = [value for part in subject for kind, value in part if kind == "commonName"]
        return (*common, *(value for kind, value in others if kind in ("DNS", "URI")))

    def close(self) -> bytes:
        """The record that says goodbye."""
        if self.established:
            with contextlib.suppress(ssl.SSLError):  # it is said; whether the peer answers does not matter
                self._tls.unwrap()
        return self._outgoing.read()


class TlsContexts:
    """The context for the next connection."""

    def __init__(self, settings: TlsSettings) -> None:
        self.settings = settings
        self._context: ssl.SSLContext | None = None
        self._paths = {
            role: path
            for role, path in (
                ("cert", settings.cert_path),
                ("key", settings.key_path),
                ("trust", settings.trust_cert_path if settings.auth_client else None),
            )
            if path and not settings.test_mode and settings.mode != "disabled"
        }
        self._loaded: dict[str, bytes | None] = {}
        self._refused: dict[str, bytes | None] = {}
        self._stats: dict[str, tuple[int, int, int] | None] = {}

    @property
    def watches(self) -> bool:
        """Whether there are files that can change."""
        return bool(self._paths)

    def load(self) -> None:
        """Read what is configured, at the start. Raises TlsError."""
        if self.settings.mode == "disabled":
            return
        if self.settings.test_mode:
            new_context(self.settings)  # the certificate can wait for the first caller, wrong options cannot
            return
        self._loaded = self._digests()
        self._context = file_context(self.settings)

    def current(self) -> ssl.SSLContext:
        """The context for a new connection; in test mode the certificate is made for the first one."""
        if self._context is None:
            self._context = self_signed_context(self.settings)
        return self._context

    def reload(self) -> str | None:
        """Take up changed files. What is to be noted about it, or None where there is nothing new.

        Java waits until certificate and key have both changed; here a renewed certificate for the same key is taken at
        once, and a pair that does not match yet is waited for.
        """
        stats = {role: _stat(path) for role, path in self._paths.items()}
        if stats == self._stats:
            return None
        self._stats = stats
        found = self._digests()
        changed = {role for role, digest in found.items() if digest != self._loaded.get(role)}
        if not changed or found == self._refused:
            return None
        try:
            self._context = file_context(self.settings)
        except TlsError as error:
            if changed <= {"cert", "key"} and len(changed) == 1 and MISMATCH in repr(error.__cause__):
                return None  # the other half is on its way
            self._refused = found
            return f"TLS files changed, and cannot be used: {error}. New connections still get the old ones."
        self._loaded, self._refused = found, {}
        return f"TLS files changed ({', '.join(sorted(changed))}): new connections use them"

    def _digests(self) -> dict[str, bytes | None]:
        return {role: _digest(path) for role, path in self._paths.items()}


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _digest(path: str) -> bytes | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return None
