"""One listening port: its socket, connections, limits, overload detection and idle sweep."""

import asyncio
import resource
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from routebook.codes import VERSION_5_5_0
from routebook.handlers.fast_lookup import FastLookup
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.net.admission import Admission
from routebook.server.net.connection import Connection
from routebook.server.net.flow_control import watermarks
from routebook.server.net.idle import IdleSweep
from routebook.server.net.limits import Limits, limits_health
from routebook.server.net.listeners import BACKLOG, open_socket
from routebook.server.net.load_monitor import LoadMonitor
from routebook.server.net.service import Service
from routebook.server.net.shared import Protection, Recording, Shared, TransportOptions
from routebook.server.net.turns import Turns
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.health import Part
from routebook.server.observe.loop_lag import LoopLag
from routebook.server.tls.contexts import TlsContexts
from routebook.settings import Settings
from routebook.wire.command import SerializeType

if TYPE_CHECKING:
    import socket

    from routebook.server.access.authorize import Authorizer

_SPARE_FILES: Final = 768  # for journal, HTTP and peers; the rest of the limit is for connections


class Port:
    """`open` binds the socket, `start` accepts connections, `drain` answers what has arrived and closes them."""

    def __init__(
        self,
        service: Service,
        settings: Settings,
        *,
        clock: Clock,
        tls: TlsContexts,
        denials: Denials,
        event_log: EventLog,
        opaques: Iterator[int],
        authorizer: "Authorizer | None" = None,
        fast_lookup: FastLookup | None = None,
        http_address: str | None = None,
        version: int = VERSION_5_5_0,
        turns: Turns | None = None,
    ) -> None:
        loop_time, limit = asyncio.get_running_loop().time, settings.limits
        self._settings = settings
        self._event_log = event_log
        self._socket: socket.socket | None = None
        self._listener: asyncio.Server | None = None
        self.address = ""
        self.number = 0
        admission = Admission(
            service, time=loop_time, requests_per_second=limit.requests_per_second, authorizer=authorizer
        )
        load = LoadMonitor(limit.busy_ms, self._set_busy)
        self.loop_lag = LoopLag(load.sample)
        limits = Limits(limit, exceeded=service.exceeded, time=loop_time, max_files=_max_connections(settings))
        self.shared = Shared(
            service,
            clock,
            transport=TransportOptions(
                tls=tls,
                watermarks=watermarks(settings),
                opaques=opaques,
                serialize_type=SerializeType[settings.serialize_type],
                version=version,
                proxy_networks=settings.proxy_networks,
                http_address=http_address,
            ),
            recording=Recording(denials=denials, event_log=event_log),
            protection=Protection(admission=admission, limits=limits, load=load),
            fast_lookup=fast_lookup,
            turns=turns,
        )
        self._idle = IdleSweep(
            self.shared.traffic.connections,
            limit_s=settings.server_channel_max_idle_s,
            first_s=limit.first_request_s,
            frame_s=limit.frame_s,
            on_idle=lambda connection: event_log.connection_idle(connection.requester.address),
        )

    def open(self, host: str, port: int, *, option: str = "--listen") -> None:
        """Bind the socket; port 0 takes a free port. Raises ListenError, which names `option`."""
        self._socket = open_socket(
            host,
            port,
            receive_bytes=self._settings.server_socket_rcv_buf_size,
            send_bytes=self._settings.server_socket_snd_buf_size,
            option=option,
        )
        self.number = self._socket.getsockname()[1]
        self.address = f"[{host}]:{self.number}" if ":" in host else f"{host}:{self.number}"

    async def start(self) -> None:
        """Accept connections and serve."""
        if self._socket is None:
            raise RuntimeError("the port is not open")
        loop, shared = asyncio.get_running_loop(), self.shared
        self._listener = await loop.create_server(
            lambda: Connection(shared, loop.time), sock=self._socket, backlog=BACKLOG
        )
        self._idle.start()
        self.loop_lag.start()

    async def stop_accepting(self) -> None:
        # connections in the listening socket's queue may have sent a request: accept them first
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if self._listener is not None:
            self._listener.close()
        elif self._socket is not None:
            self._socket.close()

    async def drain(self, timeout_s: float) -> None:
        """Answer everything that has arrived, close all connections, and stop the timers."""
        await self.shared.traffic.drain(timeout_s)
        self._idle.stop()
        self.loop_lag.stop()

    def health(self) -> Part:
        """The health component `limits`."""
        protection = self.shared.protection
        return limits_health(
            protection.limits, buffer_bytes=self.shared.buffers.held, is_busy=protection.admission.is_busy
        )

    def _set_busy(self, is_busy: bool) -> None:
        self.shared.protection.admission.set_busy(is_busy)
        self._event_log.busy(is_busy)


def _max_connections(settings: Settings) -> int:
    """The number of connections that the limit on open files leaves room for."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return 1 << 62
    spare = min(files // 4, _SPARE_FILES + settings.http_watchers)
    return max(16, files - spare)
