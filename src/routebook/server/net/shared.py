"""What all connections of one port share, grouped by role."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from routebook.access.identity import Network
from routebook.codes import VERSION_5_5_0
from routebook.handlers.fast_lookup import FastLookup
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.net.admission import Admission
from routebook.server.net.flow_control import Buffers
from routebook.server.net.limits import Limits
from routebook.server.net.load_monitor import LoadMonitor
from routebook.server.net.outbox import Outbox
from routebook.server.net.service import Service
from routebook.server.net.traffic import Traffic
from routebook.server.net.turns import Turns
from routebook.server.observe.event_log import EventLog
from routebook.server.tls.contexts import TlsContexts
from routebook.wire.codec import encode_reply, encode_versioned_reply
from routebook.wire.command import Reply, SerializeType
from routebook.wire.peer import Peer


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportOptions:
    """How bytes are exchanged."""

    tls: TlsContexts
    watermarks: tuple[int, int]  # high and low, in bytes
    opaques: Iterator[int]
    serialize_type: SerializeType
    version: int = VERSION_5_5_0  # in the headers of answers
    proxy_networks: tuple[Network, ...] = ()  # PROXY headers from these networks are trusted
    http_address: str | None = None  # where this process serves HTTP


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Where denials and problems of requests are recorded."""

    denials: Denials
    event_log: EventLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What limits the use of this server."""

    admission: Admission
    limits: Limits
    load: LoadMonitor


class Shared:
    """The parts of the server that the connections of one port use."""

    def __init__(
        self,
        service: Service,
        clock: Clock,
        *,
        transport: TransportOptions,
        recording: Recording,
        protection: Protection,
        fast_lookup: FastLookup | None = None,
        turns: Turns | None = None,
    ) -> None:
        self.service = service
        self.turns = turns or Turns()
        self.now_ms = clock.now_ms
        self.wall_ms = clock.wall_ms
        self.transport = transport
        self.recording = recording
        self.protection = protection
        self.traffic = Traffic()
        self.outbox = Outbox()
        self.buffers = Buffers(protection.limits.settings.buffer_bytes, self._free_memory)
        self.fast_lookup = fast_lookup
        self.encode: Callable[[int, Reply], bytes] = partial(encode_reply, serialize_type=transport.serialize_type)
        if transport.version != VERSION_5_5_0:
            self.encode = partial(
                encode_versioned_reply, serialize_type=transport.serialize_type, version=transport.version
            )
        protection.limits.broker_hosts = self.broker_hosts

    def new_peer(self) -> Peer:
        """Return the frame decoder of a new connection."""
        max_frame_bytes = self.protection.limits.settings.frame_bytes
        return Peer(self.transport.opaques, max_frame_bytes=max_frame_bytes, on_buffered=self.buffers.hold)

    def broker_hosts(self) -> set[str]:
        """Return the hosts that brokers are connected from."""
        brokers = self.service.broker_connections
        connections = self.traffic.connections
        return {connection.requester.host.name for number, connection in connections.items() if number in brokers}

    def _free_memory(self) -> None:
        """Close the connections that buffer most, brokers last, until memory is below the limit."""
        brokers = self.service.broker_connections
        holding = [item for item in self.traffic.connections.items() if item[1].buffered_bytes]
        holding.sort(key=lambda item: (item[0] in brokers, -item[1].buffered_bytes))
        for _, connection in holding:
            if not self.buffers.is_full:
                break
            connection.exceed("buffer_bytes", "the buffers are full, and this connection is among the largest users")
