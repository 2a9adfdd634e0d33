"""One Controller node: its port, service, log and notifications, in the NameServer's process or in its own.

ControllerNode.open   reads the settings and chooses the log engine
start                 opens the log and the port: from here on it serves
stop                  answers what has arrived, hands leadership over, and closes the log
"""

import asyncio
from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from routebook.codes import FLAG_ONEWAY, VERSION_5_5_0, ResponseCode
from routebook.controller.access import needed, target_of
from routebook.controller.codes import ControllerRequest
from routebook.controller.machine import Machine
from routebook.controller.overview import NodeOverview, Peer
from routebook.controller.record import Origin
from routebook.effects import SaveSettings
from routebook.errors import SettingsError, StartError
from routebook.events import DownReason
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.controller.config import ControllerConfig
from routebook.server.controller.journal import ControllerJournal
from routebook.server.controller.log import Log, LogError
from routebook.server.controller.port_service import ControllerPortService
from routebook.server.controller.service import ControllerService
from routebook.server.net.outbound.oneway_sender import OnewaySender
from routebook.server.net.port import Port
from routebook.server.observe.controller_meter import ControllerMeter
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.health import Condition, Fact, Part
from routebook.server.state.config_saver import ConfigSaver
from routebook.server.state.recorder import Recorder
from routebook.server.tls.contexts import TlsContexts
from routebook.settings import Settings
from routebook.settings.current import ControllerSettings
from routebook.wire.command import Command, Reply, SerializeType

if TYPE_CHECKING:
    from routebook.server.access.identities_file import IdentitiesFile

NO_CONNECTION: Final = -1
STANDALONE_VERSION: Final = 0  # Java: a Controller in its own process writes version 0 into all headers


class ControllerNode:
    """`ControllerNode.open` makes it; it can be started once."""

    def __init__(self, settings: Settings, config: ControllerConfig, log: Log) -> None:
        self._settings = settings
        self.config = config
        self.log = log
        self.exceeded: defaultdict[str, int] = defaultdict(int)

    @classmethod
    def open(cls, settings: Settings) -> Self:
        """Raises SettingsError."""
        config = ControllerConfig.of(settings)
        return cls(settings, config, _make_log(settings, config))

    async def start(
        self,
        *,
        clock: Clock,
        tls: TlsContexts,
        denials: Denials,
        event_log: EventLog,
        recorder: Recorder,
        access: "IdentitiesFile | None",
        version: int = VERSION_5_5_0,
    ) -> None:
        """Open the log, then listen. Raises StartError."""
        settings, config = self._settings, self.config
        self._opaques, self._version = count(), version
        self._sender = OnewaySender(
            serialize_type=SerializeType[settings.serialize_type],
            on_failure=event_log.unreachable,
            on_result=self._notified,
        )
        self._journal = journal = ControllerJournal(recorder, config, clock)
        store = Path(config.values["configStorePath"])
        self._saver = ConfigSaver(kv_path=store, settings_path=store)  # it has no KV
        self.service = ControllerService(
            config,
            self.log,
            now_ms=clock.now_ms,
            notify=self._notify,
            close=self._close,
            on_committed=journal.committed,
            on_leading=lambda leads: journal.leads(leads, self.service.machine.sets.values),
            on_problem=event_log.controller_problem,
            save=self._save,
        )
        authorizer = None
        if access is not None:
            from routebook.server.access.authorize import AccessRules, Authorizer  # noqa: PLC0415  only if needed

            rules = AccessRules(needed, lambda command: target_of(self.service.machine.sets, command))
            authorizer = Authorizer(access, rules, denials, wall_ms=clock.wall_ms)
        self.port = Port(
            ControllerPortService(
                self.service,
                max_name_length=settings.name_length,
                exceeded=self.exceeded,
                on_failure=event_log.request_failed,
            ),
            settings,
            clock=clock,
            tls=tls,
            denials=denials,
            event_log=event_log,
            opaques=self._opaques,
            authorizer=authorizer,
            version=version,
        )
        if (problem := config.unreachable_address(settings.bind_address)) is not None:
            event_log.controller_address(problem)
        self.port.open(settings.bind_address, config.port, option="controllerDLegerPeers")
        try:
            store.parent.mkdir(parents=True, exist_ok=True)
            await self.service.start()
        except (LogError, OSError) as error:
            await self.port.stop_accepting()
            raise StartError(f"the Controller cannot start: {error}") from None
        await self.port.start()

    @property
    def serialize_type(self) -> str:
        return self._settings.serialize_type

    async def stop(self) -> None:
        """Answer what has arrived, hand leadership over, and close everything."""
        await self.port.stop_accepting()
        await self.port.drain(self._settings.drain_s)
        await self.service.stop()
        await self._sender.aclose()
        await self._saver.close()

    @property
    def machine(self) -> Machine:
        return self.service.machine

    @property
    def meter(self) -> ControllerMeter:
        return self.service.meter

    @property
    def etcd_problems(self) -> Mapping[tuple[str, str], int]:
        return self.log.problems

    def overview(self) -> NodeOverview:
        """What this node shows about itself."""
        config, leader = self.config, self.log.leader
        return NodeOverview(
            group=config.group,
            node=config.self_id,
            address=config.node.address,
            engine=self._settings.controller.engine,
            is_leader=self.log.is_leader,
            leader=None if leader is None else f"{leader.id} at {leader.address}",
            peers=[
                Peer(
                    id=peer.id,
                    address=peer.address,
                    leads=leader is not None and peer.id == leader.id,
                    is_self=peer.id == config.self_id,
                )
                for peer in config.peers
            ],
            problem=self.log.problem,
            unclean_elections=config.live.allow_unclean,
            live_brokers=len(self.machine.live),
        )

    async def ask(self, command: Command, origin: Origin) -> Reply:
        """Answer a request like the port."""
        answer = self.service.answer(command, NO_CONNECTION, origin)
        return answer if isinstance(answer, Reply) else await answer

    def health(self) -> Part:
        """The health component `controller`."""
        service, log = self.service, self.log
        leader = log.leader
        facts: dict[str, Fact] = {
            "leads": log.is_leader,
            "leader": None if leader is None else leader.id,
            "sets": len(service.machine.sets),
            "live_brokers": len(service.machine.live),
            "sets_without_master": sum(state.master_id is None for state in service.machine.sets.values()),
            "commits": service.meter.commits["committed"],
        }
        if log.problem is not None:
            return Part(Condition.DEGRADED, f"{log.problem}; brokers keep their roles until it is available", facts)
        if leader is None:
            return Part(Condition.DEGRADED, "no Controller node leads; brokers keep their roles", facts)
        return Part(facts=facts)

    def _notify(self, name: str, address: str, change: Reply) -> None:
        command = Command(
            ControllerRequest.NOTIFY_BROKER_ROLE_CHANGED,
            next(self._opaques) & 0x7FFFFFFF,
            flag=FLAG_ONEWAY,
            version=self._version,
            ext=None if change.ext is None else {**change.ext},
            body=change.body,
        )
        self._sender.send(address, command, key=name)

    def _notified(self, address: str, command: Command, key: Hashable, why: str | None) -> None:
        epoch = command.field("masterEpoch") or "0"
        self._journal.notified(str(key), address, int(epoch), why)

    def _close(self, connection: int) -> None:
        found = self.port.shared.traffic.connections.get(connection)
        if found is not None:
            found.close(DownReason.EXPIRED)

    async def _save(self, changed: dict[str, str], remark: str | None) -> Reply:
        done: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._saver.save(SaveSettings(changed), done.set_result)
        problem = await done
        if problem is None:
            return Reply(remark=remark)
        remark = f"the change is in effect, but will be lost at the next restart: {problem}"
        return Reply(code=ResponseCode.SYSTEM_ERROR, remark=remark)


def _make_log(settings: Settings, config: ControllerConfig) -> Log:
    chosen = settings.controller
    if chosen.engine == "sqlite":
        if len(config.peers) > 1:
            raise SettingsError(
                f"controllerDLegerPeers has {len(config.peers)} nodes, which need a replicated log: set"
                " routebook.controller.engine=etcd and routebook.controller.etcdEndpoints, or leave one node"
            )
        from routebook.server.controller.sqlite_log import SqliteLog  # noqa: PLC0415  one engine

        folder = config.values["controllerStorePath"] or f"{config.values['rocketmqHome']}/controller"
        return SqliteLog(Path(folder).expanduser(), config.node)
    if not chosen.etcd_endpoints:
        raise SettingsError("routebook.controller.engine=etcd needs routebook.controller.etcdEndpoints")
    from routebook.server.controller.etcd_log import EtcdLog  # noqa: PLC0415  one engine

    return EtcdLog(
        chosen.etcd_endpoints,
        config.node,
        prefix=chosen.etcd_prefix or f"/routebook/{config.group}",
        verify=_verify(chosen),
        auth=_credentials(chosen.etcd_user, chosen.etcd_password_file),
    )


def _verify(chosen: ControllerSettings) -> object:
    """How to verify etcd: True, or a TLS context with the given files."""
    if not (chosen.etcd_ca_file or chosen.etcd_cert_file):
        return True
    import ssl  # noqa: PLC0415  only for HTTPS with own files

    try:
        context = ssl.create_default_context(cafile=chosen.etcd_ca_file or None)
    except OSError as error:
        raise SettingsError(f"routebook.controller.etcdCaFile={chosen.etcd_ca_file}: {error}") from None
    if chosen.etcd_cert_file:
        try:
            context.load_cert_chain(chosen.etcd_cert_file, chosen.etcd_key_file or None)
        except OSError as error:
            raise SettingsError(f"routebook.controller.etcdCertFile={chosen.etcd_cert_file}: {error}") from None
    return context


def _credentials(user: str, password_file: str) -> tuple[str, str] | None:
    if not user:
        return None
    try:
        return user, Path(password_file).read_text().strip()
    except OSError as error:
        raise SettingsError(f"routebook.controller.etcdPasswordFile={password_file}: {error.strerror}") from None
