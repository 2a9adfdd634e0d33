"""One NameServer inside a running event loop: start, serve, drain, stop.

Server.open   reads KV file, TLS files, identities; loads the snapshot and replays the journal's tail
start         opens the port, starts the journal and all timers: from here on it serves
stop          stops accepting, answers what has arrived, closes all connections, writes the last snapshot
"""

import asyncio
import time
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Self

from routebook.access.classes import NEEDED
from routebook.errors import ListenError
from routebook.events import DownReason
from routebook.handlers import NameServer
from routebook.handlers.fast_lookup import FastLookup
from routebook.handlers.targets import target_of
from routebook.kv import KvStore
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.housekeeping import Housekeeping
from routebook.server.http.context import HttpContext
from routebook.server.net.effects import EffectRunner
from routebook.server.net.nameserver_service import NameServerService
from routebook.server.net.outbound.cluster_test import ClusterTest
from routebook.server.net.outbound.min_broker_notices import MinBrokerNotices
from routebook.server.net.port import Port
from routebook.server.net.turns import Turns
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.health import Health, protection_health, service_gate, tls_health, totals_health
from routebook.server.peers import SilenceQuestion, open_peers, peers_health
from routebook.server.state.config_saver import ConfigSaver
from routebook.server.state.home import Home
from routebook.server.state.persistence import Persistence
from routebook.server.state.recorder import Recorder
from routebook.server.state.rollups import Rollups
from routebook.server.state.startup_files import load_kv
from routebook.server.tls.contexts import TlsContexts
from routebook.settings import Settings
from routebook.wire.command import SerializeType

if TYPE_CHECKING:
    from routebook.peers.monitor import Peers
    from routebook.server.access.identities_file import IdentitiesFile
    from routebook.server.controller.node import ControllerNode


class Server:
    """One NameServer. `Server.open` makes it; it can be started once."""

    def __init__(
        self,
        nameserver: NameServer,
        persistence: Persistence,
        *,
        clock: Clock,
        event_log: EventLog,
        tls: TlsContexts,
        access: "IdentitiesFile | None",
        controller: "ControllerNode | None" = None,
    ) -> None:
        self.nameserver = nameserver
        self.persistence = persistence
        self.access = access
        self.controller = controller
        self._clock = clock
        self._event_log = event_log
        self._tls = tls
        self._peers: Peers | None = None
        self._silence: SilenceQuestion | None = None
        self._is_started = self._controller_started = False
        self._is_stopping = False
        self.address = ""
        self.port = 0
        self.http_address: str | None = None  # set before `start` if this process serves HTTP
        self.health = Health()
        self.health.add_gate("service", service_gate(nameserver, clock.now_ms))
        self.health.hold("start", "the NameServer does not listen yet")
        self.health.add("preservation", lambda: protection_health(nameserver))
        if access is not None:
            self.health.add("access", access.health)

    @classmethod
    def open(
        cls, settings: Settings, *, kv: KvStore | None = None, home: Home | None = None, cold: bool = False
    ) -> Self:
        """Open the state that is stored in `home`; without a home nothing is stored.

        `kv` None reads the KV file. `cold` starts with empty tables. Raises StartError.
        """
        clock, event_log = Clock(), EventLog(time.monotonic)
        if kv is None:
            kv = load_kv(Path(settings.kv_config_path))
        tls = TlsContexts(settings.tls)
        tls.load()
        access = open_identities(settings)
        controller = _controller(settings)
        persistence = Persistence.open(home, settings, clock=clock, event_log=event_log, cold=cold)
        routes = None if persistence.state is None else persistence.state.routes
        nameserver = NameServer(settings, started_ms=clock.now_ms(), kv=kv, routes=routes)
        return cls(
            nameserver, persistence, clock=clock, event_log=event_log, tls=tls, access=access, controller=controller
        )

    async def start(self) -> None:
        """Listen and serve. Raises ListenError."""
        settings = self.nameserver.settings
        self._port = port = self._make_port(settings)
        try:
            port.open(settings.bind_address, settings.listen_port)
        except ListenError:
            self.persistence.abandon()
            raise
        self.address, self.port = port.address, port.number
        self.nameserver.settings = settings.with_port(self.port)
        self._notices.own_addresses = {self.address, f"127.0.0.1:{self.port}", f"localhost:{self.port}"}
        self._housekeeping = Housekeeping(port.shared, port=self.port, access=self.access)
        self._rollups = Rollups(self.nameserver.meter, self.recorder, wall_ms=self._clock.wall_ms)
        self.persistence.start(self.nameserver, self.health, listen=self.address)
        await port.start()
        self._is_started = True
        self._housekeeping.start_nameserver(self.nameserver, self._effects)
        self._housekeeping.start()
        self._rollups.start()
        self.health.add("limits", port.health)
        if self._tls.watches:
            tls, wall_ms = self._tls, self._clock.wall_ms
            self.health.add("tls", lambda: tls_health(tls.problem, tls.expires_ms, wall_ms()))
        self.health.add("totals", lambda: totals_health(self.nameserver))
        self.health.release("start")

    def _make_port(self, settings: Settings) -> Port:
        """Make the NameServer port and what performs its effects."""
        event_log, recorder, clock = self._event_log, self.recorder, self._clock
        serialize_type = SerializeType[settings.serialize_type]
        opaques = count()
        self._saver = ConfigSaver(
            kv_path=Path(settings.kv_config_path),
            settings_path=Path(settings.config_store_path),
            kv=self.nameserver.kv.image,
        )
        self._notices = MinBrokerNotices(
            opaques=opaques, serialize_type=serialize_type, on_failure=event_log.unreachable
        )
        self._cluster_test = ClusterTest(settings.product_namesrv_addrs, on_failure=event_log.unreachable)
        self.denials = Denials(recorder, clock.wall_ms)
        self._effects = EffectRunner(
            recorder=recorder,
            denials=self.denials,
            saver=self._saver,
            notices=self._notices,
            cluster_test=self._cluster_test,
            close=self._close_connection,
            on_save_failed=event_log.save_failed,
            time=asyncio.get_running_loop().time,
            wall_ms=clock.wall_ms,
        )
        authorizer = None
        if self.access is not None:
            from routebook.server.access.authorize import AccessRules, Authorizer  # noqa: PLC0415  only if needed

            rules = AccessRules(lambda command: NEEDED.get(command.code, ()), partial(target_of, self.nameserver))
            authorizer = Authorizer(
                self.access,
                rules,
                self.denials,
                wall_ms=clock.wall_ms,
                require_tls=settings.auth_require_tls,
                require_stamp=settings.auth_require_stamp,
            )
        turns = Turns()
        return Port(
            NameServerService(self.nameserver, self._effects, clock.now_ms, turns=turns, event_log=event_log),
            settings,
            clock=clock,
            tls=self._tls,
            denials=self.denials,
            event_log=event_log,
            opaques=opaques,
            authorizer=authorizer,
            fast_lookup=FastLookup(self.nameserver) if serialize_type is SerializeType.JSON else None,
            http_address=self.http_address,
            turns=turns,
        )

    async def start_controller(self) -> "ControllerNode | None":
        """Start the Controller of this process, after `start`; None: there is none. Raises StartError."""
        controller = self.controller
        if controller is None:
            return None
        await controller.start(
            clock=self._clock,
            tls=self._tls,
            denials=self.denials,
            event_log=self._event_log,
            recorder=self.recorder,
            access=self.access,
        )
        self._controller_started = True
        self.health.add("controller", controller.health)
        return controller

    async def start_history_and_peers(self) -> None:
        """Start what can wait until the server listens. Raises UsageError."""
        await self.persistence.start_history()
        peers = open_peers(
            self.nameserver.settings,
            self.nameserver.routes,
            self.recorder,
            now_ms=self._clock.now_ms,
            wall_ms=self._clock.wall_ms,
            home=self.persistence.home,
        )
        if peers is not None:
            self._peers = peers
            self.health.add("peers", lambda: peers_health(peers))
            peers.start()
            self._silence = SilenceQuestion(peers, self.nameserver, self._effects.apply, self._clock.now_ms)
            self._housekeeping.after_scan = self._silence.check

    async def stop(self, reason: str = "asked to") -> None:
        """Stop accepting, answer everything that has arrived, and close all connections and files."""
        if not self._is_started or self._is_stopping:
            return
        self._is_stopping = True
        self.health.hold("stop", "the server is stopping")
        port, settings = self._port, self.nameserver.settings
        if self.controller is not None and self._controller_started:
            await self.controller.stop()
        await port.stop_accepting()
        if settings.enable_shutdown_gracefully:
            port.shared.protection.admission.shut_down()
            await port.shared.traffic.wait_for_close(settings.shutdown_wait_time_s)
        await port.drain(settings.drain_s)
        self._housekeeping.stop()
        await self._notices.aclose()
        await self._cluster_test.aclose()
        await self._saver.close()
        if self._silence is not None:
            self._silence.stop()
        if self._peers is not None:
            await self._peers.stop()
        self._rollups.stop()
        self.denials.flush()
        await self.persistence.stop(reason)

    def http_context(self) -> HttpContext:
        """The parts that HTTP uses; after `start_history_and_peers`."""
        persistence = self.persistence
        return HttpContext(
            nameserver=self.nameserver,
            traffic=self._port.shared.traffic,
            loop_lag=self._port.loop_lag,
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
            effects=self._effects,
            controller=self.controller if self._controller_started else None,
        )

    @property
    def recorder(self) -> Recorder:
        """Records all events."""
        return self.persistence.recorder

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._port.shared.traffic.connections)

    def _close_connection(self, connection: int, reason: DownReason) -> None:
        found = self._port.shared.traffic.connections.get(connection)
        if found is not None:
            found.close(reason)


def open_identities(settings: Settings) -> "IdentitiesFile | None":
    """The identities file; None: no authentication. Raises AccessFileError."""
    if settings.auth_file is None:
        return None
    from routebook.server.access.identities_file import IdentitiesFile  # noqa: PLC0415  only with authentication

    return IdentitiesFile(Path(settings.auth_file).expanduser())


def _controller(settings: Settings) -> "ControllerNode | None":
    """The Controller; None: it is not enabled. Raises SettingsError."""
    if not settings.enable_controller:
        return None
    from routebook.server.controller.node import ControllerNode  # noqa: PLC0415  only if enabled

    return ControllerNode.open(settings)
