"""The settings of a running NameServer: an immutable value; a change creates a new one."""

from collections.abc import Iterable, Mapping
from ipaddress import ip_address, ip_network

import msgspec

from routebook.model import RoutePolicy
from routebook.properties import format_entries
from routebook.settings import update as update_
from routebook.settings.build import build, shown_by_319
from routebook.settings.sources import Source
from routebook.settings.types import Value


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """TLS on the NameServer port."""

    mode: str  # disabled, permissive, enforcing
    test_mode: bool
    key_path: str | None
    key_password: str | None
    cert_path: str | None
    need_client_auth: str  # none, optional, require
    auth_client: bool
    trust_cert_path: str | None
    ciphers: str | None  # names separated by commas
    protocols: str | None


class ExpiryProtectionSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When routes of silent brokers are kept, and for how long."""

    enabled: bool
    share: int  # percent of all brokers
    minimum: int
    window_ms: int
    max_ms: int


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Resource limits per peer and in total; 0 means no limit."""

    connections: int
    connections_per_address: int
    requests_per_second: int
    busy_ms: int
    frame_bytes: int
    frame_s: int
    first_request_s: int
    unread_bytes: int
    buffer_bytes: int


class TotalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on what the tables hold, in all and per identity; 0 means no limit."""

    brokers: int
    topics: int
    queues: int  # sum of the topics of all brokers
    mappings: int
    kv_bytes: int
    brokers_per_identity: int
    queues_per_identity: int
    mappings_per_identity: int
    kv_bytes_per_identity: int


class JournalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The journal and its snapshots."""

    enabled: bool
    commit_ms: int
    segment_mib: int
    retain_days: int
    retain_mib: int
    audit_days: int
    audit_mib: int
    snapshot_s: int
    archive_url: str
    archive_roll_s: int


class ConsoleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The console."""

    enabled: bool
    session_s: int
    login_attempts: int  # failures per minute, address and access key
    compare: str  # peers, guarded, any


class ControllerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the Controller stores its state; its other settings are Java's."""

    engine: str  # sqlite, etcd
    etcd_endpoints: tuple[str, ...]
    etcd_prefix: str
    etcd_user: str
    etcd_password_file: str
    etcd_ca_file: str
    etcd_cert_file: str
    etcd_key_file: str


class Settings:
    """All settings by key in `values`, and those that the program uses as attributes.

    Handlers read some of them once per request, so they are plain attributes. They are never assigned: `update` and
    `with_port` return new settings.
    """

    def __init__(
        self,
        *,
        values: Mapping[str, Value],
        origins: Mapping[str, str],
        foreign: Mapping[str, str],
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.values = values
        self.origins = origins
        self.foreign = foreign
        self.warnings = warnings
        flag, number, text = _flags(values), _numbers(values), _texts(values)

        self.kv_config_path = text["kvConfigPath"]
        self.config_store_path = text["configStorePath"]
        self.cluster_test = flag["clusterTest"]
        self.order_message_enable = flag["orderMessageEnable"]
        self.return_order_topic_config_to_broker = flag["returnOrderTopicConfigToBroker"]
        self.scan_not_active_broker_interval_ms = number["scanNotActiveBrokerInterval"]
        self.enable_all_topic_list = flag["enableAllTopicList"]
        self.enable_topic_list = flag["enableTopicList"]
        self.need_wait_for_service = flag["needWaitForService"]
        self.wait_seconds_for_service = number["waitSecondsForService"]
        self.policy = RoutePolicy(
            delete_topic_with_broker_registration=flag["deleteTopicWithBrokerRegistration"],
            notify_min_broker_id_changed=flag["notifyMinBrokerIdChanged"],
            support_acting_master=flag["supportActingMaster"],
        )

        self.enable_controller = flag["enableControllerInNamesrv"]
        self.controller = ControllerSettings(
            engine=text["routebook.controller.engine"],
            etcd_endpoints=tuple(
                part.strip() for part in text["routebook.controller.etcdEndpoints"].split(",") if part.strip()
            ),
            etcd_prefix=text["routebook.controller.etcdPrefix"],
            etcd_user=text["routebook.controller.etcdUser"],
            etcd_password_file=text["routebook.controller.etcdPasswordFile"],
            etcd_ca_file=text["routebook.controller.etcdCaFile"],
            etcd_cert_file=text["routebook.controller.etcdCertFile"],
            etcd_key_file=text["routebook.controller.etcdKeyFile"],
        )

        self.bind_address = text["bindAddress"]
        self.listen_port = number["listenPort"]
        self.server_channel_max_idle_s = number["serverChannelMaxIdleTimeSeconds"]
        self.server_socket_snd_buf_size = number["serverSocketSndBufSize"]
        self.server_socket_rcv_buf_size = number["serverSocketRcvBufSize"]
        self.write_buffer_high_water_mark = number["writeBufferHighWaterMark"]
        self.write_buffer_low_water_mark = number["writeBufferLowWaterMark"]
        self.enable_shutdown_gracefully = flag["enableShutdownGracefully"]
        self.shutdown_wait_time_s = number["shutdownWaitTimeSeconds"]

        self.max_topics_per_registration = number["routebook.maxTopicsPerRegistration"]
        self.max_inflated_bytes = number["routebook.maxInflatedBytes"]
        self.name_length = number["routebook.limits.nameLength"]
        self.limits = LimitSettings(
            connections=number["routebook.limits.connections"],
            connections_per_address=number["routebook.limits.connectionsPerAddress"],
            requests_per_second=number["routebook.limits.requestsPerSecond"],
            busy_ms=number["routebook.limits.busyMillis"],
            frame_bytes=number["routebook.limits.frameBytes"],
            frame_s=number["routebook.limits.frameSeconds"],
            first_request_s=number["routebook.limits.firstRequestSeconds"],
            unread_bytes=number["routebook.limits.unreadBytes"],
            buffer_bytes=number["routebook.limits.bufferBytes"],
        )
        self.totals = TotalSettings(
            brokers=number["routebook.limits.brokers"],
            topics=number["routebook.limits.topics"],
            queues=number["routebook.limits.queues"],
            mappings=number["routebook.limits.mappings"],
            kv_bytes=number["routebook.limits.kvBytes"],
            brokers_per_identity=number["routebook.limits.brokersPerIdentity"],
            queues_per_identity=number["routebook.limits.queuesPerIdentity"],
            mappings_per_identity=number["routebook.limits.mappingsPerIdentity"],
            kv_bytes_per_identity=number["routebook.limits.kvBytesPerIdentity"],
        )
        self.auth_file = text["routebook.auth.file"] or None
        self.auth_require_tls = frozenset(word for word in text["routebook.auth.requireTls"].split(",") if word)
        self.auth_require_stamp = frozenset(word for word in text["routebook.auth.requireStamp"].split(",") if word)
        self.proxy_networks = tuple(
            ip_network(network.strip()) for network in text["routebook.proxyNetworks"].split(",") if network.strip()
        )
        self.route_cache_bytes = number["routebook.routeCacheBytes"]
        self.lookup_keys_per_minute = number["routebook.lookupKeysPerMinute"]
        self.recovered_lease_s = number["routebook.recoveredLeaseSeconds"]
        self.expiry_protection = ExpiryProtectionSettings(
            enabled=flag["routebook.preservation.enabled"],
            share=number["routebook.preservation.share"],
            minimum=number["routebook.preservation.minimum"],
            window_ms=number["routebook.preservation.windowSeconds"] * 1000,
            max_ms=number["routebook.preservation.maxSeconds"] * 1000,
        )
        self.journal = JournalSettings(
            enabled=flag["routebook.journal.enabled"],
            commit_ms=number["routebook.journal.commitMillis"],
            segment_mib=number["routebook.journal.segmentMegabytes"],
            retain_days=number["routebook.journal.retainDays"],
            retain_mib=number["routebook.journal.retainMegabytes"],
            audit_days=number["routebook.audit.retainDays"],
            audit_mib=number["routebook.audit.retainMegabytes"],
            snapshot_s=number["routebook.journal.snapshotSeconds"],
            archive_url=text["routebook.archive.url"],
            archive_roll_s=number["routebook.archive.rollSeconds"],
        )
        self.serialize_type = text["routebook.serializeType"]
        self.product_namesrv_addrs = _addresses(text["routebook.productNamesrvAddr"])
        self.drain_s = number["routebook.drainSeconds"]
        self.http_listen = _host_and_port(text["routebook.http.listen"])
        self.http_hosts = text["routebook.http.hosts"]
        self.http_watchers = number["routebook.http.watchers"]
        self.console = ConsoleSettings(
            enabled=flag["routebook.console.enabled"],
            session_s=number["routebook.console.sessionMinutes"] * 60,
            login_attempts=number["routebook.console.loginAttempts"],
            compare=text["routebook.console.compare"],
        )
        self.peers = tuple(peer.strip() for peer in text["routebook.peers"].split(",") if peer.strip())
        self.peers_credentials = (text["routebook.peers.accessKey"], text["routebook.peers.secretKey"])
        self.peers_interval_s = number["routebook.peers.intervalSeconds"]
        self.peers_diverged_s = number["routebook.peers.divergedSeconds"]
        self.log_format = text["routebook.logFormat"]
        self.log_level = text["routebook.logLevel"]
        self.tls = TlsSettings(
            mode=text["routebook.tls.mode"],
            test_mode=flag["routebook.tls.testMode"],
            key_path=text["routebook.tls.keyPath"] or None,
            key_password=text["routebook.tls.keyPassword"] or None,
            cert_path=text["routebook.tls.certPath"] or None,
            need_client_auth=text["routebook.tls.needClientAuth"],
            auth_client=flag["routebook.tls.authClient"],
            trust_cert_path=text["routebook.tls.trustCertPath"] or None,
            ciphers=text["routebook.tls.ciphers"] or None,
            protocols=text["routebook.tls.protocols"] or None,
        )
        # Java: reads its black list once, at start
        self._black_list = update_.black_list_of(text["configBlackList"])

    @classmethod
    def build(
        cls, sources: Iterable[Source] = (), *, home: str = ".", file: str | None = None, is_controller: bool = False
    ) -> "Settings":
        """Defaults, overridden by each source in order. `file` is the argument of `-c`."""
        built = build(sources, home=home, file=file, is_controller=is_controller)
        return cls(values=built.values, origins=built.origins, foreign=built.foreign, warnings=built.warnings)

    def text(self) -> str:
        """The answer to 319: sorted, one `key=value` per line."""
        return format_entries(shown_by_319(self.values, self.foreign).items())

    def update(self, body: bytes) -> "SettingsUpdate":
        """The result of a 318 with this body; raises Denied or BadRequest if it is rejected as a whole."""
        plan = update_.plan(body, values=self.values, black_list=self._black_list)
        settings = self._with(plan.changed, origin="318") if plan.changed else self
        return SettingsUpdate(settings, update_.shown(plan, self.values), plan.not_applied)

    def with_port(self, port: int) -> "Settings":
        """The same settings with the real port in place of 0. Java does the same."""
        return self._with({"listenPort": port}, origin="the system")

    @property
    def listens_publicly(self) -> bool:
        """Whether other machines can reach the NameServer port."""
        return _is_public(self.bind_address)

    @property
    def serves_http_publicly(self) -> bool:
        """Whether other machines can reach the HTTP port."""
        return self.http_listen is not None and _is_public(self.http_listen[0])

    def _with(self, changed: Mapping[str, Value], *, origin: str) -> "Settings":
        return Settings(
            values={**self.values, **changed},
            origins={**self.origins, **dict.fromkeys(changed, origin)},
            foreign=self.foreign,
            warnings=self.warnings,
        )


class SettingsUpdate(msgspec.Struct, frozen=True):
    """The result of a 318: the new settings, the changes (before, after), and what was not applied and why."""

    settings: Settings
    changed: dict[str, tuple[str, str]]
    not_applied: list[tuple[str, str]]

    @property
    def remark(self) -> str | None:
        """The remark of the reply; None if all keys were applied."""
        return update_.remark(self.not_applied)


def _flags(values: Mapping[str, Value]) -> dict[str, bool]:
    return {key: value for key, value in values.items() if isinstance(value, bool)}


def _numbers(values: Mapping[str, Value]) -> dict[str, int]:
    return {key: value for key, value in values.items() if isinstance(value, int) and not isinstance(value, bool)}


def _texts(values: Mapping[str, Value]) -> dict[str, str]:
    return {key: value for key, value in values.items() if isinstance(value, str)}


def _addresses(text: str) -> tuple[str, ...]:
    return tuple(address.strip() for address in text.split(";") if address.strip())


def _host_and_port(text: str) -> tuple[str, int] | None:
    if text == "off":
        return None
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _is_public(host: str) -> bool:
    try:
        return not ip_address(host).is_loopback
    except ValueError:
        return host.lower() != "localhost"
