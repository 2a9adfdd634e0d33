"""Turns the bytes that arrive on a connection into the bytes of frames.

The first bytes show what the connection carries: a PROXY header, TLS, frames or a foreign protocol.
"""

import asyncio
from enum import Enum

from routebook.errors import ProtocolError
from routebook.server.net.flow_control import FlowControl
from routebook.server.net.requester import Requester
from routebook.server.net.shared import Shared
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

    @property
    def held(self) -> int:
        """The number of bytes that wait for the rest of a header."""
        return len(self._first)

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


class Decoder:
    """The receiving side of one connection, up to the frames."""

    __slots__ = ("_first", "_flow", "_requester", "_shared", "_transport", "foreign", "held", "is_plain")

    def __init__(self, shared: Shared, requester: Requester, flow: FlowControl, transport: asyncio.Transport) -> None:
        self._shared = shared
        self._requester = requester
        self._flow = flow
        self._transport = transport
        self._first: FirstBytes | None = FirstBytes(shared.transport.tls)
        self.held = 0  # bytes of an incomplete PROXY header, counted against `buffers`
        self.is_plain = False  # what arrives are frames, without TLS
        self.foreign: ForeignProtocol | None = None  # the peer uses another protocol

    @property
    def has_ended(self) -> bool:
        """Whether the peer has sent TLS's close_notify."""
        return self._requester.tls is not None and self._requester.tls.finished

    def decode(self, data: bytes) -> bytes:
        """Return the bytes of frames. Raises ProtocolError."""
        first, tls = self._first, self._requester.tls
        if first is not None:
            return self._decode_first(first, data)
        if tls is None:
            return data
        try:
            return tls.receive(data)
        finally:
            self._send_records(tls)

    def _decode_first(self, first: FirstBytes, data: bytes) -> bytes:
        try:
            plain = first.take(data)
        finally:
            if first.source is not None:
                source, first.source = first.source, None
                self._set_source(source)
            if first.tls is not None:
                self._requester.tls, self._flow.encrypt = first.tls, first.tls.send
                self._send_records(first.tls)
        if plain is None:
            self._hold(first.held)
            return b""
        self.release()
        self._first = None
        self.foreign = first.foreign
        if self.foreign is not None:
            return b""
        self.is_plain = first.tls is None
        return plain

    def release(self) -> None:
        """Nothing of this connection counts against `buffers` any more."""
        self._hold(0)

    def _hold(self, size: int) -> None:
        more, self.held = size - self.held, size
        if more:
            self._shared.buffers.hold(more)

    def _set_source(self, source: str) -> None:
        protection = self._shared.protection
        self._requester.set_source(
            source,
            limits=protection.limits,
            proxies=self._shared.transport.proxy_networks,
            has_auth=protection.admission.authorizer is not None,
        )

    def _send_records(self, tls: TlsSession) -> None:
        """Send handshake records and alerts."""
        records = tls.outgoing()
        if records:
            self._flow.flush()  # records have an order
            self._transport.write(records)
