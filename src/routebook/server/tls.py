"""TLS without sockets: one connection's records in and out, and where the server's contexts come from.

Like Java: three modes, a made-up certificate while nothing is configured (test mode), own PEM files otherwise, and
changed files are taken up while running. Unlike Java, files that cannot be used stop the start.
"""

import hashlib
import ssl
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from routebook.errors import ProtocolError, TlsError
from routebook.server.ciphers import restrict_ciphers, restrict_protocols

TLS_HANDSHAKE_BYTE: Final = 0x16
_RECORD_BYTES: Final = 16384
_MISMATCH: Final = "KEY_VALUES_MISMATCH"


class TlsMode(StrEnum):
    """Java: tls.server.mode."""

    DISABLED = "disabled"
    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"


class ClientAuth(StrEnum):
    """Java: tls.server.need.client.auth."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRE = "require"


class TlsOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How this server does TLS; the names are Java's keys."""

    mode: TlsMode = TlsMode.PERMISSIVE
    test_mode: bool = True
    client_auth: ClientAuth = ClientAuth.NONE
    auth_client: bool = False
    cert_path: str | None = None
    key_path: str | None = None
    key_password: str | None = None
    trust_path: str | None = None
    ciphers: str | None = None
    protocols: str | None = None


class TlsSession:
    """One connection: ciphertext in, plaintext out, and back."""

    __slots__ = ("_incoming", "_outgoing", "_tls", "established", "finished")

    def __init__(self, context: ssl.SSLContext) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
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
            raise ProtocolError(f"TLS: {_reason(error)}") from error
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

    def close(self) -> bytes:
        """The record that says goodbye."""
        if self.established:
            try:
                self._tls.unwrap()
            except ssl.SSLError:
                pass  # it is said; whether the peer answers does not matter
        return self._outgoing.read()


class TlsContexts:
    """The context for the next connection."""

    def __init__(self, options: TlsOptions) -> None:
        self.options = options
        self._context: ssl.SSLContext | None = None
        self._paths = {
            role: path
            for role, path in (
                ("cert", options.cert_path),
                ("key", options.key_path),
                ("trust", options.trust_path if options.auth_client else None),
            )
            if path and not options.test_mode and options.mode is not TlsMode.DISABLED
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
        if self.options.mode is TlsMode.DISABLED:
            return
        if self.options.test_mode:
            _new_context(self.options)  # the certificate can wait for the first caller, wrong options cannot
            return
        self._loaded = self._digests()
        self._context = _file_context(self.options)

    def current(self) -> ssl.SSLContext:
        """The context for a new connection; in test mode the certificate is made for the first one."""
        if self._context is None:
            self._context = _test_context(self.options)
        return self._context

    def reload(self) -> str | None:
        """Take up changed files. What is to be noted about it, or None where there is nothing new.

        Java waits until certificate and key have both changed; here a renewed certificate for the same key is taken at once.
        A pair that does not match yet is waited for.
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
            self._context = _file_context(self.options)
        except TlsError as error:
            if changed <= {"cert", "key"} and len(changed) == 1 and _MISMATCH in repr(error.__cause__):
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


def _new_context(options: TlsOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    # No RocketMQ client asks for ALPN. A gRPC client insists on h2 and hangs up without a word if it does not get it;
    # so it gets it, sends its preface, and the log can name the mistake. A browser is told in HTTP.
    context.set_alpn_protocols(["http/1.1", "h2"])
    restrict_protocols(context, options.protocols)
    restrict_ciphers(context, options.ciphers)
    return context


def _file_context(options: TlsOptions) -> ssl.SSLContext:
    context = _new_context(options)
    if not options.cert_path or not options.key_path:
        missing = "tls.server.certPath" if not options.cert_path else "tls.server.keyPath"
        raise TlsError(
            f"{missing} is not set: with tls.test.mode.enable=false a certificate (tls.server.certPath) "
            "and its key (tls.server.keyPath) are needed"
        )
    _load_pair(context, options.cert_path, options.key_path, options.key_password or "")
    if options.client_auth is not ClientAuth.NONE and options.auth_client:
        _load_trust(context, options.trust_path)
        required = options.client_auth is ClientAuth.REQUIRE
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
    elif options.client_auth is ClientAuth.REQUIRE:
        # Java asks for a certificate and then takes any, which protects nothing and which OpenSSL will not do.
        raise TlsError(
            "tls.server.need.client.auth=require checks nothing while tls.server.authClient=false; "
            "set tls.server.authClient=true and tls.server.trustCertPath, or tls.server.need.client.auth=none"
        )
    return context


def _load_pair(context: ssl.SSLContext, cert_path: str, key_path: str, password: str) -> None:
    for key, path in (("tls.server.certPath", cert_path), ("tls.server.keyPath", key_path)):
        _check_readable(path, key)
    try:
        context.load_cert_chain(cert_path, key_path, password=password)
    except ssl.SSLError as error:
        reason = _reason(error)
        if _MISMATCH in repr(error):
            raise TlsError(f"the certificate {cert_path} does not belong to the key {key_path}") from error
        if "BAD_DECRYPT" in repr(error) or "password" in reason.lower():
            raise TlsError(f"the key {key_path} does not open with tls.server.keyPassword") from error
        raise TlsError(f"{cert_path} and {key_path} are not a PEM certificate chain and its key: {reason}") from error
    except OSError as error:
        raise TlsError(f"{cert_path} or {key_path} cannot be read: {error.strerror or error}") from error


def _load_trust(context: ssl.SSLContext, trust_path: str | None) -> None:
    if not trust_path:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        return
    _check_readable(trust_path, "tls.server.trustCertPath")
    try:
        context.load_verify_locations(trust_path)
    except (ssl.SSLError, OSError) as error:
        raise TlsError(f"{trust_path} (tls.server.trustCertPath) holds no PEM certificate: {_reason(error)}") from error


def _check_readable(path: str, key: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise TlsError(f"{path} ({key}) cannot be read: {error.strerror or error}") from error


def _reason(error: OSError) -> str:
    reason = getattr(error, "reason", None)
    return str(reason or error.strerror or error).replace("_", " ").lower()


def _test_context(options: TlsOptions) -> ssl.SSLContext:
    """A context with a certificate that nobody signed. Java asks for a client certificate and ignores it; here it is not asked."""
    from routebook.server.self_signed import make_self_signed  # noqa: PLC0415  the import is slow, and most never need it

    context = _new_context(options)
    with tempfile.TemporaryDirectory(prefix="routebook-tls-") as folder:
        pair = Path(folder, "pair.pem")
        pair.touch(mode=0o600)
        pair.write_bytes(make_self_signed())
        context.load_cert_chain(pair)
    return context
