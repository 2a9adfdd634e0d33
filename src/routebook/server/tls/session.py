"""TLS without sockets: encrypts and decrypts the bytes of one connection."""

import contextlib
import ssl
from typing import Final, cast

from routebook.errors import ProtocolError
from routebook.server.tls.files import openssl_reason

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
        self.finished = False  # the peer sent close_notify

    def receive(self, data: bytes) -> bytes:
        """Decrypt what arrived. Records to send in return are in `outgoing`. Raises ProtocolError."""
        self._incoming.write(data)
        plain = []
        try:
            if not self.established:
                self._tls.do_handshake()
                self.established = True
            while chunk := self._tls.read(min(len(data), _RECORD_BYTES) or 1):  # allocates this much
                plain.append(chunk)
                if not self._incoming.pending and not self._tls.pending():  # saves the exception
                    break
            else:
                self.finished = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.finished = True
        except ssl.SSLError as error:
            raise ProtocolError(f"TLS: {openssl_reason(error)}") from error
        return plain[0] if len(plain) == 1 else b"".join(plain)

    def send(self, plain: bytes) -> bytes:
        """Encrypt `plain`; return all records that are to be sent."""
        sent = self._tls.write(plain) if plain else 0
        while sent < len(plain):
            sent += self._tls.write(memoryview(plain)[sent:])
        return self._outgoing.read()

    def outgoing(self) -> bytes:
        """Return the records of TLS itself: handshake, tickets, alerts."""
        return self._outgoing.read() if self._outgoing.pending else b""

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
        """Return the close_notify record."""
        if self.established:
            with contextlib.suppress(ssl.SSLError):  # the peer need not answer it
                self._tls.unwrap()
        return self._outgoing.read()
