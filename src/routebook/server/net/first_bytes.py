"""The first bytes of a connection decide what it is: a PROXY header, TLS, frames, or somebody else's protocol."""

from enum import Enum

from routebook.errors import ProtocolError
from routebook.server.tls.session import TLS_HANDSHAKE_BYTE, TlsContexts, TlsSession
from routebook.wire.foreign_protocols import DECIDES_AT, Stranger, name_stranger
from routebook.wire.proxy_protocol import read_proxy_header


class _Step(Enum):
    PROXY = "is there a PROXY header?"
    TLS = "is the next byte the first of a handshake?"
    GREETING = "are the first plain bytes a frame's?"


class Opening:
    """Bytes in, until it is clear. What it finds on the way: the true `source`, the `tls` session, a `stranger`."""

    __slots__ = ("_contexts", "_first", "_step", "source", "stranger", "tls")

    def __init__(self, contexts: TlsContexts) -> None:
        self._contexts = contexts
        self._first = bytearray()
        self._step = _Step.PROXY
        self.source: str | None = None
        self.tls: TlsSession | None = None
        self.stranger: Stranger | None = None

    def take(self, data: bytes) -> bytes | None:
        """The plain bytes so far, as soon as they are known to be frames or a stranger's; None: more are needed."""
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
        if self._step is not _Step.GREETING or len(first) < DECIDES_AT:
            return None
        plain = bytes(first)
        self.stranger = name_stranger(plain)
        return plain

    def _choose_tls(self) -> None:
        first, mode = self._first, self._contexts.settings.mode
        self._step = _Step.GREETING
        if first[0] != TLS_HANDSHAKE_BYTE:
            if mode == "enforcing":
                raise ProtocolError("plain text, while routebook.tls.mode=enforcing asks for TLS")
        elif mode != "disabled":  # there a handshake is a stranger's greeting
            self.tls = TlsSession(self._contexts.current())
            hello = bytes(first)
            first.clear()
            first += self.tls.receive(hello)
