"""A NameServer from its start to its end: start, serve, drain, stop.

`Server` is one NameServer inside a running event loop; `run` is the process around it.
"""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from routebook.errors import ListenError
from routebook.events import DownReason
from routebook.handlers import NameServer
from routebook.kv import KvStore
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.health_checks import limits_part, preservation_part
from routebook.server.housekeeping import Housekeeping
from routebook.server.http.context import HttpContext
from routebook.server.http.listener import HttpListener, announce
from routebook.server.net.admission import Gate
from routebook.server.net.cluster_test import Product
from routebook.server.net.connection import Connection, Shared
from routebook.server.net.effects import Performer
from routebook.server.net.idle import IdleSweep
from routebook.server.net.limits import Limits
from routebook.server.net.listeners import BACKLOG, open_socket
from routebook.server.net.load_monitor import Pressure
from routebook.server.net.min_broker_notices import Notices
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.health import Health, service_gate
from routebook.server.observe.log import get_log
from routebook.server.peers import open_peers, peers_part
from routebook.server.state.config_saver import ConfigSaver
from routebook.server.state.home import Home
from routebook.server.state.persistence import Persistence
from routebook.server.state.recorder import Recorder
from routebook.server.state.rollups import Rollups
from routebook.server.state.startup_files import load_kv
from routebook.server.tls.session import TlsContexts
from routebook.settings import Settings
from routebook.wire.command import SerializeType

if TYPE_CHECKING:
    from routebook.peers.monitor import Peers
    from routebook.server.access.identities_file import AccessFile

_HIGH_WATER: Final = 64 * 1024  # Netty's
_LOW_WATER: Final = 32 * 1024
_SPARE_FILES: Final = 768  # for what is no connection to the NameServer port: journal, HTTP beside its watchers, peers
_SWITCH_S: Final = (
    0.0005  # for so long the threads of journal and history may keep the event loop from its next request
)
_LINGER_S: Final = 1.0  # for a peer that has got everything and does not close its side


class Server:
    """One NameServer: `await start()`, then it serves on `port` until `await stop()`. It can be started once."""

    def __init__(
        self, settings: Settings, *, kv: KvStore | None = None, home: Home | None = None, cold: bool = False
    ) -> None:
        """`kv` None reads the KV file that the settings name. Without a `home` nothing is remembered.

        `cold` begins with empty tables whatever is remembered. Raises StartError where something cannot be used.
        """
        self._settings = settings
        clock = Clock()
        if kv is None:
            kv = load_kv(Path(settings.kv_config_path))
        self._contexts = TlsContexts(settings.tls)
        self._contexts.load()
        self.access = _identities(settings)
        self.persistence = Persistence(home, settings, clock=clock, cold=cold)
        memory = self.persistence.memory
        routes = None if memory is None else memory.routes
        self.nameserver = NameServer(settings, started_ms=clock.now_ms(), kv=kv, routes=routes)
        self._clock = clock
        self.health = Health()
        self.health.add_gate("service", service_gate(self.nameserver, clock.now_ms))
        self.health.hold("start", "the NameServer does not listen yet")
        self.health.add("preservation", lambda: preservation_part(self.nameserver))
        if self.access is not None:
            self.health.add("access", self.access.part)
        self._peers: Peers | None = None
        self._listener: asyncio.Server | None = None
        self._stop_started = False
        self.address = ""
        self.port = 0

    async def start(self) -> None:
        """Listen. Raises ListenError."""
        settings, loop = self._settings, asyncio.get_running_loop()
        serialize_type = SerializeType[settings.serialize_type]
        opaques = count()
        self._event_log = event_log = EventLog(loop.time)
        recorder = self.persistence.open(event_log)
        self._saver = ConfigSaver(kv_path=Path(settings.kv_config_path), settings_path=Path(settings.config_store_path))
        self._notices = Notices(opaques=opaques, serialize_type=serialize_type, trouble=event_log.unreachable)
        self._product = Product(settings.product_namesrv_addrs, opaques=opaques, trouble=event_log.unreachable)
        performer = Performer(
            saver=self._saver,
            recorder=recorder,
            notices=self._notices,
            product=self._product,
            close=self._close_connection,
            unsaved=event_log.save_failed,
            time=loop.time,
        )
        nameserver, limit = self.nameserver, settings.limits
        self.denials = denials = Denials(recorder, self._clock.wall_ms)
        authority = None
        if self.access is not None:
            from routebook.server.access.authorize import Authority  # noqa: PLC0415  for who needs it

            authority = Authority(self.access, nameserver, denials)
        gate = Gate(nameserver, time=loop.time, requests_per_second=limit.requests_per_second, authority=authority)
        self._pressure = Pressure(limit.busy_ms, self._pressed)
        limits = Limits(
            limit,
            exceeded=nameserver.exceeded,
            time=loop.time,
            most_files=_most_connections(settings),
        )
        self._shared = shared = Shared(
            nameserver=self.nameserver,
            clock=self._clock,
            contexts=self._contexts,
            performer=performer,
            event_log=event_log,
            recorder=recorder,
            opaques=opaques,
            serialize_type=serialize_type,
            water_marks=_water_marks(settings),
            gate=gate,
            limits=limits,
            denials=denials,
            pressure=self._pressure,
            proxy_networks=settings.proxy_networks,
        )
        self.health.add("limits", lambda: limits_part(shared))
        try:
            sock = open_socket(
                settings.bind_address,
                settings.listen_port,
                receive_bytes=settings.server_socket_rcv_buf_size,
                send_bytes=settings.server_socket_snd_buf_size,
            )
        except ListenError:
            self.persistence.abandon()
            raise
        self.port = sock.getsockname()[1]
        host = settings.bind_address
        self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        self.nameserver.settings = settings.with_port(self.port)
        self._notices.own_addresses = {self.address, f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        self._housekeeping = Housekeeping(shared, port=self.port, access=self.access)
        self._idle = IdleSweep(
            shared.connections,
            limit_s=settings.server_channel_max_idle_s,
            first_s=limit.first_request_s,
            frame_s=limit.frame_s,
            idle=lambda connection: event_log.connection_idle(connection.address),
        )
        self._rollups = Rollups(self.nameserver.meter, recorder, event_log=event_log, wall_ms=self._clock.wall_ms)
        self.persistence.begin(self.nameserver, self.health, listen=self.address)
        self._listener = await loop.create_server(lambda: Connection(shared, loop.time), sock=sock, backlog=BACKLOG)
        self._housekeeping.start()
        self._idle.start()
        self._pressure.start()
        self._rollups.start()
        self.persistence.start()
        self.health.release("start")

    async def settle_in(self) -> None:
        """What can wait until it listens: history, and the comparison with peers. Raises UsageError."""
        await self.persistence.settle_in()
        clock = self._clock
        peers = open_peers(
            self._settings,
            self.nameserver.routes,
            self.persistence.recorder,
            now_ms=clock.now_ms,
            wall_ms=clock.wall_ms,
        )
        if peers is not None:
            self._peers = peers
            self.health.add("peers", lambda: peers_part(peers))
            peers.start()

    async def stop(self, reason: str = "asked to") -> None:
        """Accept nobody any more, answer everything that has arrived, and end every connection."""
        if self._listener is None or self._stop_started:
            return
        self._stop_started = True
        self.health.hold("stop", "the server is stopping")
        await self._stop_accepting(self._listener)
        settings = self.nameserver.settings
        if settings.enable_shutdown_gracefully:
            await self._send_away(settings.shutdown_wait_time_s)
        await self._drain(settings.drain_s)
        self._housekeeping.stop()
        self._idle.stop()
        self._pressure.stop()
        self._notices.close()
        self._product.close()
        await self._saver.close()
        if self._peers is not None:
            await self._peers.stop()
        self._rollups.stop()
        self.denials.flush()
        await self.persistence.close(reason)

    def http_context(self) -> HttpContext:
        """What HTTP is served from; once this one has settled in."""
        persistence = self.persistence
        return HttpContext(
            nameserver=self.nameserver,
            traffic=self._shared,
            health=self.health,
            feed=persistence.feed,
            now_ms=self._clock.now_ms,
            listen=self.address,
            ns=persistence.ns,
            boot=persistence.recorder.boot,
            journal=persistence.recorder.journal,
            journal_files=persistence.files,
            history=None if persistence.history is None else persistence.history.answers,
            peers=self._peers,
            access=self.access,
            denials=self.denials,
            home=persistence.home,
            recorder=persistence.recorder,
            performer=self._shared.performer,
        )

    @property
    def recorder(self) -> Recorder:
        """What everything that happens goes through."""
        return self.persistence.recorder

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._shared.connections)

    async def _stop_accepting(self, listener: asyncio.Server) -> None:
        # Who is already in the listening socket's queue may have sent a request: let the loop accept them first.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        listener.close()

    async def _send_away(self, seconds: float) -> None:
        """Java: enableShutdownGracefully. Newer callers are told to go elsewhere, older ones are still served."""
        shared = self._shared
        shared.gate.send_away()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await shared.emptied.wait()

    async def _drain(self, seconds: float) -> None:
        shared = self._shared
        shared.stopping = True
        for connection in list(shared.connections.values()):
            connection.drain()
        deadline = asyncio.get_running_loop().time() + seconds
        while shared.connections and (left := deadline - asyncio.get_running_loop().time()) > 0:
            try:
                async with asyncio.timeout(min(left, _LINGER_S)):
                    await shared.emptied.wait()
            except TimeoutError:
                for connection in list(shared.connections.values()):
                    if connection.ended and not connection.write_buffer_size:
                        connection.close(DownReason.CLOSED)
        for connection in list(shared.connections.values()):
            connection.close(DownReason.CLOSED)
        await asyncio.sleep(0)

    def _pressed(self, busy: bool) -> None:
        self._shared.gate.set_busy(busy)
        self._event_log.busy(busy)

    def _close_connection(self, connection: int, reason: DownReason) -> None:
        found = self._shared.connections.get(connection)
        if found is not None:
            found.close(reason)


def _identities(settings: Settings) -> "AccessFile | None":
    """Who may ask what; None: everybody everything. Raises AccessFileError."""
    if settings.auth_file is None:
        return None
    from routebook.server.access.identities_file import AccessFile  # noqa: PLC0415  for who needs it

    return AccessFile(Path(settings.auth_file).expanduser())


def _water_marks(settings: Settings) -> tuple[int, int]:
    high, low = settings.write_buffer_high_water_mark, settings.write_buffer_low_water_mark
    # as in Java, both or neither
    return (high, min(low, high)) if high > 0 and low > 0 else (_HIGH_WATER, _LOW_WATER)


def run(settings: Settings, home: Home, *, warnings: Iterable[str] = (), cold: bool = False) -> int:
    """Serve until a signal says stop; the exit code. Raises StartError."""
    log = get_log()
    for warning in warnings:
        log.warning(warning)
    _raise_file_limit()
    sys.setswitchinterval(_SWITCH_S)
    server = Server(settings, home=home, cold=cold)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        reason = runner.run(_serve(server))
    log.debug("home released", home=home.path, reason=reason)
    return 0


async def _serve(server: Server) -> str:
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[str] = loop.create_future()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            loop.add_signal_handler(number, _on_signal(stop, number))
    address = server.nameserver.settings.http_listen
    http = None if address is None else HttpListener(host=address[0], port=address[1], listening=_http_listens)
    await server.start()
    _announce(server)
    gc.collect()
    gc.freeze()  # what is there now stays: no collection needs to look at it again
    await server.settle_in()
    if http is not None:
        http.start(server.http_context())
    reason = await stop
    await server.stop(reason)
    if http is not None:
        await http.stop()  # last, so that whoever watches sees the end
    return reason


def _on_signal(stop: asyncio.Future[str], number: signal.Signals) -> Callable[[], None]:
    def on_signal() -> None:
        if stop.done():  # the second: whoever sends it does not want to wait
            logging.shutdown()
            os._exit(128 + number)
        stop.set_result(number.name)

    return on_signal


def _announce(server: Server) -> None:
    """The line that people and scripts wait for, and the one that Java's scripts wait for."""
    serialize_type = server.nameserver.settings.serialize_type
    with contextlib.suppress(OSError, ValueError):  # nobody listens on stdout: no reason not to serve
        sys.stdout.write(
            f"The Name Server boot success. serializeType={serialize_type}, address {server.address}\n"
            f"listening on {server.address} (nameserver)\n"
        )
        sys.stdout.flush()


def _http_listens(address: str) -> None:
    announce(address)
    gc.freeze()  # its many modules, too


def _most_connections(settings: Settings) -> int:
    """What the limit on open files leaves room for, so that it is never reached itself."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return 1 << 62
    spare = min(files // 4, _SPARE_FILES + settings.http_watchers)
    return max(16, files - spare)


def _raise_file_limit() -> None:
    """Every connection is an open file; take as many as this user may have, as the JVM does."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop's where it is installed; asyncio's own does the same, slower."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415  it may be missing
    except ImportError:
        return asyncio.new_event_loop
    return new_event_loop
