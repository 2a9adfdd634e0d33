"""Recognises what a connection carries by its first bytes: a PROXY header, TLS, frames or a foreign protocol."""

from enum import Enum

from routebook.errors import ProtocolError
from routebook.server.tls.contexts import TlsContexts
from routebook.server.tls.session import TLS_HANDSHAKE_BYTE, TlsSession
from routebook.wire.foreign_protocols import MIN_CLIENT_BYTES, ForeignProtocol, recognize_client
from routebook.wire.proxy_protocol import read_proxy_header


class _Step(Enum):
    PROXY = "is there a PROXY header?"
    TLS = "is the next byte the first of a TLS handshake?"
    PROTOCOL = "are the first plain bytes the start of a frame?"


class FirstBytes:
    """Takes bytes until the protocol is known. Sets `source` (of a PROXY header), `tls` and `foreign`."""

    __slots__ = ("_contexts", "_first", "_step", "foreign", "source", "tls")

    def __init__(self, contexts: TlsContexts) -> None:
        self._contexts = contexts
        self._first = bytearray()
        self._step = _Step.PROXY
        self.source: str | None = None
        self.tls: TlsSession | None = None
        self.foreign: ForeignProtocol | None = None

    def take(self, data: bytes) -> bytes | None:
        """Return all plain bytes so far once the protocol is known; None: more are needed. Raises ProtocolError."""
        first = self._first
        first += data if self.tls is None else self.tls.receive(data)
        if self._step is _Step.PROXY:
            header = read_proxy_header(first)
            if header is None:
                return None
            self.source = header.source
            del first[: header.length]
            self._step = _Step.TLS
        if self._step is _Step.TLS and first:
            self._choose_tls()
        if self._step is not _Step.PROTOCOL or len(first) < MIN_CLIENT_BYTES:
            return None
        plain = bytes(first)
        self.foreign = recognize_client(plain)
        return plain

    def _choose_tls(self) -> None:
        first, mode = self._first, self._contexts.settings.mode
        self._step = _Step.PROTOCOL
        if first[0] != TLS_HANDSHAKE_BYTE:
            if mode == "enforcing":
                raise ProtocolError("plain text, but routebook.tls.mode=enforcing requires TLS")
        elif mode != "disabled":  # there a handshake is a foreign protocol
            self.tls = TlsSession(self._contexts.current())
            hello = bytes(first)
            first.clear()
            first += self.tls.receive(hello)
