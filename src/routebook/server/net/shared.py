"""What all connections of one server share, grouped by role."""

from collections.abc import Iterator
from dataclasses import dataclass

from routebook.access.identity import Network
from routebook.handlers import NameServer
from routebook.handlers.fast_lookup import FastLookup
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.net.admission import Admission
from routebook.server.net.effects import EffectRunner
from routebook.server.net.flow_control import Buffers
from routebook.server.net.limits import Limits
from routebook.server.net.load_monitor import LoadMonitor
from routebook.server.net.outbox import Outbox
from routebook.server.net.traffic import Traffic
from routebook.server.observe.event_log import EventLog
from routebook.server.tls.contexts import TlsContexts
from routebook.wire.command import SerializeType
from routebook.wire.peer import Peer


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportOptions:
    """How bytes are exchanged."""

    tls: TlsContexts
    watermarks: tuple[int, int]  # high and low, in bytes
    opaques: Iterator[int]
    serialize_type: SerializeType
    proxy_networks: tuple[Network, ...] = ()  # PROXY headers from these networks are trusted
    http_address: str | None = None  # where this process serves HTTP


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Where the results of requests go."""

    effects: EffectRunner
    denials: Denials
    event_log: EventLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What limits the use of this server."""

    admission: Admission
    limits: Limits
    load: LoadMonitor


class Shared:
    """The parts of one server that its connections use."""

    def __init__(
        self,
        nameserver: NameServer,
        clock: Clock,
        *,
        transport: TransportOptions,
        recording: Recording,
        protection: Protection,
    ) -> None:
        self.nameserver = nameserver
        self.now_ms = clock.now_ms
        self.wall_ms = clock.wall_ms
        self.transport = transport
        self.recording = recording
        self.protection = protection
        self.traffic = Traffic()
        self.outbox = Outbox()
        self.buffers = Buffers(protection.limits.settings.buffer_bytes, self._free_memory)
        self.fast_lookup = FastLookup() if transport.serialize_type is SerializeType.JSON else None
        protection.limits.broker_hosts = self.broker_hosts

    def new_peer(self) -> Peer:
        """Return the frame decoder of a new connection."""
        max_frame_bytes = self.protection.limits.settings.frame_bytes
        return Peer(self.transport.opaques, max_frame_bytes=max_frame_bytes, on_buffered=self.buffers.hold)

    def broker_hosts(self) -> set[str]:
        """Return the hosts that registered brokers are connected from."""
        registered = self.nameserver.routes.registered_over
        connections = self.traffic.connections
        return {connection.requester.host.name for number, connection in connections.items() if number in registered}

    def _free_memory(self) -> None:
        """Close the connections that buffer most, brokers last, until memory is below the limit."""
        registered = self.nameserver.routes.registered_over
        holding = [item for item in self.traffic.connections.items() if item[1].buffered_bytes]
        holding.sort(key=lambda item: (item[0] in registered, -item[1].buffered_bytes))
        for _, connection in holding:
            if not self.buffers.is_full:
                break
            connection.exceed("buffer_bytes", "the buffers are full, and this connection is among the largest users")
