"""Turns the bytes that arrive on a connection into the bytes of frames: first bytes, then TLS."""

import asyncio

from routebook.server.net.first_bytes import FirstBytes
from routebook.server.net.flow_control import FlowControl
from routebook.server.net.requester import Requester
from routebook.server.net.shared import Shared
from routebook.server.tls.session import TlsSession
from routebook.wire.foreign_protocols import ForeignProtocol


class Decoder:
    """The receiving side of one connection, up to the frames."""

    __slots__ = ("_first", "_flow", "_requester", "_shared", "_transport", "foreign", "is_plain")

    def __init__(self, shared: Shared, requester: Requester, flow: FlowControl, transport: asyncio.Transport) -> None:
        self._shared = shared
        self._requester = requester
        self._flow = flow
        self._transport = transport
        self._first: FirstBytes | None = FirstBytes(shared.transport.tls)
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
            return b""
        self._first = None
        self.foreign = first.foreign
        if self.foreign is not None:
            return b""
        self.is_plain = first.tls is None
        return plain

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
            self._transport.write(records)
