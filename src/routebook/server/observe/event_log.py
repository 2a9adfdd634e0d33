"""Event log: one structured log line per event, and per problem of connections, files and scheduled tasks."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerReturned,
    BrokerUp,
    DownReason,
    Event,
    KvChanged,
    MappingsChanged,
    PermissionRestored,
    PermissionWiped,
    PreservationEntered,
    PreservationLeft,
    RequestDenied,
    ServerStarted,
    ServerStopped,
    SettingChanged,
    TopicDeleted,
    TopicsChanged,
)
from routebook.kv import Table
from routebook.server.observe.controller_log import CONTROLLER_KINDS, log_controller_event
from routebook.server.observe.log import get_log
from routebook.server.observe.log_throttle import LogThrottle
from routebook.wire.foreign_protocols import ForeignProtocol

_PLANNED: Final = frozenset({DownReason.UNREGISTERED, DownReason.DEREGISTERED, DownReason.REPLACED})
_MAX_KV_LINES: Final = 1000
_MAX_VALUE_CHARS: Final = 1000  # the journal has the whole value


class EventLog:
    """One method per kind of line. Lines that any client can cause are throttled: one per host and minute."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._log = get_log()
        self._remoting = get_log("remoting")
        self._traffic = get_log("traffic")
        self._water_mark = get_log("watermark")
        self._throttle = LogThrottle(time)

    def log(self, events: Iterable[Event], peer: str | None = None) -> None:
        """Log events; `peer` is the client that caused them, if any."""
        for event in events:
            self._log_event(event, peer)

    def _log_event(self, event: Event, peer: str | None) -> None:
        log = self._log
        match event:
            case BrokerUp():
                log.info("broker up", **_broker(event), timeout_ms=event.timeout_ms, peer=peer)
            case BrokerChanged():
                role = {"before_id": event.before_id} if event.before_id != event.broker_id else {}
                log.info("broker changed", **_broker(event), **role, version=_version(event), peer=peer)
            case BrokerReturned():
                log.info("broker returned", **_broker(event), peer=peer)
            case BrokerDown():
                write = log.info if event.reason in _PLANNED else log.warning
                write("broker down", **_broker(event), reason=event.reason.value, peer=peer)
            case TopicsChanged():
                counts = {"added": len(event.added), "changed": len(event.changed), "removed": len(event.removed)}
                log.info("topics changed", broker=event.broker, cause=event.cause.value, **counts)
            case MappingsChanged():
                counts = {"announced": len(event.mappings), "removed": len(event.removed)}
                log.info("static topics changed", broker=event.broker, **counts)
            case PermissionWiped():
                log.info("write permission wiped", broker=event.broker, topics=event.topics, peer=peer)
            case PermissionRestored():
                log.info("write permission restored", broker=event.broker, topics=event.topics, peer=peer)
            case TopicDeleted():
                where = {"cluster": event.cluster, "brokers": event.brokers}
                log.info("topic deleted", topic=event.topic, **where, peer=peer)
            case KvChanged(deleted=True):
                before = _shortened(event.before)
                log.info("kv deleted", namespace=event.namespace, key=event.key, before=before, peer=peer)
            case KvChanged():
                values = {"before": _shortened(event.before), "after": _shortened(event.after)}
                log.info("kv put", namespace=event.namespace, key=event.key, **values, peer=peer)
            case SettingChanged():
                log.info("setting changed", key=event.key, before=event.before, after=event.after, peer=peer)
            case RequestDenied():
                who = {"who": event.who} if event.who is not None else {}
                self._throttled(self._log.warning, "request denied", peer, code=event.code, **who, why=event.why)
            case PreservationEntered():
                counts = {"silent": event.silent, "known": event.known}
                log.warning("most brokers are silent: their routes are kept", **counts, window_ms=event.window_ms)
            case PreservationLeft():
                counts = {"returned": event.returned, "silent": event.silent}
                log.warning("routes are no longer kept", reason=event.reason.value, **counts, after_ms=event.lasted_ms)
            case ServerStarted():
                more = {"recovered": event.recovered} if event.recovered else {"cold": True} if event.cold else {}
                log.info("started", version=event.version, listen=event.listen, **more)
            case ServerStopped():
                log.info("stopped", reason=event.reason)
            case _ if isinstance(event, CONTROLLER_KINDS):
                log_controller_event(log, event, peer)

    def recovery_problem(self, why: str) -> None:
        """Log that journal, snapshot or history are damaged or incomplete."""
        self._log.warning("recovery problem", why=why)

    def journal_restored(self, segments: int, size: int) -> None:
        """Log that an empty journal was restored from the archive."""
        self._log.info("journal restored from the archive", segments=segments, bytes=size)

    def archive_problem(self, why: str) -> None:
        """Log that segments cannot be archived, or can again."""
        self._log.warning("archive", why=why)

    # Connections

    def foreign_protocol(self, protocol: ForeignProtocol, peer: str) -> None:
        event = "not a RocketMQ client"
        self._throttled(self._remoting.warning, event, peer, kind=protocol.name.lower(), why=f"it {protocol.value}")

    def registration_rejected(self, *, broker: str, addr: str, why: str, peer: str) -> None:
        """A broker's registration failed; the broker logs only that it did."""
        self._throttled(self._log.info, "registration rejected", peer, kind=broker, broker=broker, addr=addr, why=why)

    def connection_closed(self, why: str, peer: str) -> None:
        self._throttled(self._remoting.warning, "connection closed", peer, why=why)

    def connection_idle(self, peer: str) -> None:
        self._remoting.info("connection idle, closed", peer=peer)

    def request_failed(self, code: int, peer: str, error: Exception) -> None:
        self._log.unexpected("request failed", error, code=code, peer=peer)

    def unreachable(self, address: str, why: str) -> None:
        self._throttled(self._remoting.warning, "cannot be reached", address, why=why)

    def controller_problem(self, why: str) -> None:
        self._throttled(self._log.warning, "the Controller's log has a problem", None, why=why)

    def _throttled(
        self, write: Callable[..., None], event: str, peer: str | None, *, kind: str | None = None, **fields: object
    ) -> None:
        host = (peer or "").rpartition(":")[0]
        suppressed = self._throttle.due(f"{event} {kind} {host}")
        if suppressed is not None:
            more = {"unsaid": suppressed} if suppressed else {}
            write(event, peer=peer, **fields, **more)

    # Scheduled tasks and files

    def save_failed(self, why: str) -> None:
        self._log.error("not saved", why=why)

    def identities_file(self, what: str) -> None:
        self._log.warning("identities", what=what)

    def busy(self, is_busy: bool) -> None:
        if is_busy:
            self._log.warning("overload: look-ups are answered SYSTEM_BUSY, brokers are served")
        else:
            self._log.warning("overload is over: look-ups are answered again")

    def controller_address(self, what: str) -> None:
        self._log.warning("controller address", what=what)

    def tls_files(self, what: str, *, failed: bool) -> None:
        write = self._log.warning if failed else self._log.info
        write("tls files", what=what)

    def task_failed(self, name: str, error: Exception) -> None:
        self._log.unexpected("scheduled work failed", error, work=name)

    def kv_table(self, namespaces: Mapping[str, Table]) -> None:
        """Java: KVConfigManager.printAllPeriodically."""
        entries = sum(map(len, namespaces.values()))
        self._log.info("kv table", namespaces=len(namespaces), entries=entries)
        lines = ((namespace, key, value) for namespace, table in namespaces.items() for key, value in table.items())
        for (namespace, key, value), _ in zip(lines, range(_MAX_KV_LINES), strict=False):
            self._log.info("kv entry", namespace=namespace, key=key, value=_shortened(value))

    @property
    def logs_water_marks(self) -> bool:
        """Whether water marks are logged at all."""
        return self._water_mark.enabled("debug")

    def water_mark(self, *, asking: int, asking_ms: int, others: int, others_ms: int) -> None:
        """Log the queued requests and the age of the oldest, in Java's format."""
        self._water_mark.debug(
            f"[WATERMARK] ClientQueueSize:{asking} ClientQueueSlowTime:{asking_ms} "
            f"DefaultQueueSize:{others} DefaultQueueSlowTime:{others_ms}"
        )

    def traffic(self, port: int, requests: str | None, responses: str | None) -> None:
        """Log the number of requests and responses per code since the last call, in Java's format."""
        if requests is not None:
            self._traffic.debug(f"Port: {port}, RequestCode Distribution: {requests}")
        if responses is not None:
            self._traffic.debug(f"Port: {port}, ResponseCode Distribution: {responses}")


def _broker(event: BrokerUp | BrokerChanged | BrokerReturned | BrokerDown) -> dict[str, object]:
    return {"cluster": event.cluster, "broker": event.broker, "id": event.broker_id, "addr": event.addr}


def _version(event: BrokerChanged) -> int | None:
    return None if event.data_version is None else event.data_version.counter


def _shortened(value: str | None) -> str | None:
    if value is None or len(value) <= _MAX_VALUE_CHARS:
        return value
    return f"{value[:_MAX_VALUE_CHARS]}… ({len(value)} characters)"
