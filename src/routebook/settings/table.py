"""Every setting: its key, what values it takes, its default, when it takes effect. This one table drives the rest."""

import re
from enum import Enum
from ipaddress import ip_network
from typing import Final, TypeAlias

import msgspec

Value: TypeAlias = bool | int | str

_INT_MAX: Final = 2**31 - 1
_LONG_MAX: Final = 2**63 - 1
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BRACKETED: Final = re.compile(r"\[[^][]+\]")
_NOT_IN_A_HOST: Final = re.compile(r"[][:\s]")
_CAMEL_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class Group(Enum):
    """Whose setting it is. The first two are what 319 shows, the first three what `mqnamesrv -p` prints."""

    NAMESRV = "NamesrvConfig"
    SERVER = "NettyServerConfig"
    CLIENT = "NettyClientConfig"
    ROUTEBOOK = "Routebook"


class How(Enum):
    """When a value takes effect."""

    RUNTIME = "at run time, also by 318"
    RESTART = "at start"
    FIXED = "at start, never over the wire"
    UNUSED = "never: read and shown, for the sake of Java's files"


class Flag(msgspec.Struct, frozen=True):
    """true or false."""

    says: str = "true or false"

    def parse(self, text: str) -> bool:
        # Java takes whatever is not "true" for false; a slip of the pen should not switch something off
        if text.lower() not in {"true", "false"}:
            raise ValueError(self.says)
        return text.lower() == "true"


class Whole(msgspec.Struct, frozen=True):
    """A whole number from `least` to `most`."""

    least: int = -_INT_MAX - 1
    most: int = _INT_MAX

    @property
    def says(self) -> str:
        return f"a whole number from {self.least} to {self.most}"

    def parse(self, text: str) -> int:
        if not _WHOLE_NUMBER.fullmatch(text) or not self.least <= int(text) <= self.most:
            raise ValueError(self.says)
        return int(text)


class OneOf(msgspec.Struct, frozen=True):
    """One of a few words, in any case; kept as listed."""

    words: tuple[str, ...]

    @property
    def says(self) -> str:
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"

    def parse(self, text: str) -> str:
        for word in self.words:
            if word.lower() == text.lower():
                return word
        raise ValueError(self.says)


class Text(msgspec.Struct, frozen=True):
    """Any text."""

    says: str = "text"

    def parse(self, text: str) -> str:
        return text


class NonEmpty(msgspec.Struct, frozen=True):
    """Any text but none."""

    says: str = "text, not empty"

    def parse(self, text: str) -> str:
        if not text:
            raise ValueError(self.says)
        return text


class Addresses(msgspec.Struct, frozen=True):
    """HOST:PORT, several of them parted by semicolons, or nothing."""

    says: str = "HOST:PORT[;HOST:PORT]"

    def parse(self, text: str) -> str:
        for address in text.split(";") if text else ():
            host, colon, port = address.strip().rpartition(":")
            if not (host and colon and port.isascii() and port.isdigit() and 0 < int(port) < 65536):
                raise ValueError(self.says)
        return text


class Peers(msgspec.Struct, frozen=True):
    """HOST:PORT of other NameServers, with /HTTP-PORT those that are Routebooks, parted by commas; or nothing."""

    says: str = "HOST:PORT or HOST:PORT/HTTP-PORT, parted by commas"

    def parse(self, text: str) -> str:
        for peer in text.split(",") if text else ():
            address, slash, http_port = peer.strip().partition("/")
            host, _, port = address.rpartition(":")
            if not (host and _is_port(port) and (not slash or _is_port(http_port))):
                raise ValueError(self.says)
        return text


class Networks(msgspec.Struct, frozen=True):
    """Addresses and ranges of them, parted by commas, or nothing."""

    says: str = "10.1.0.0/16 or 10.1.2.3, parted by commas"

    def parse(self, text: str) -> str:
        for network in text.split(",") if text else ():
            try:
                ip_network(network.strip())
            except ValueError:
                raise ValueError(self.says) from None
        return text


class Port(msgspec.Struct, frozen=True):
    """HOST:PORT to listen on, or the word off."""

    says: str = "HOST:PORT with a port from 0 to 65535, [HOST]:PORT for IPv6, or off"

    def parse(self, text: str) -> str:
        if text.lower() == "off":
            return "off"
        host, _, port = text.rpartition(":")
        named = _BRACKETED.fullmatch(host) or (host and not _NOT_IN_A_HOST.search(host))
        if not (named and port.isascii() and port.isdigit() and int(port) < 65536):
            raise ValueError(self.says)
        return text


Type: TypeAlias = Flag | Whole | OneOf | Text | NonEmpty | Addresses | Networks | Peers | Port


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and 0 < int(text) < 65536


class Setting(msgspec.Struct, frozen=True):
    """One row of the table."""

    group: Group
    key: str
    type: Type
    default: Value
    how: How
    note: str
    secret: bool = False

    @property
    def env(self) -> str:
        """The environment variable that sets it: routebook.tls.keyPath is ROUTEBOOK_TLS_KEY_PATH."""
        words = _CAMEL_HUMP.sub("_", self.key.removeprefix("routebook.")).replace(".", "_")
        return f"ROUTEBOOK_{words.upper()}"

    def parse(self, text: str) -> Value:
        """The value that `text` says, without blanks around it, or a ValueError that says what would be one."""
        stripped = text.strip()
        if _CONTROL.search(stripped):  # 319 prints one setting a line
            raise ValueError(f"{self.type.says}, without control characters")
        return self.type.parse(stripped)


def show(value: Value) -> str:
    """A value as Java prints it."""
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


_FLAG: Final = Flag()
_COUNT: Final = Whole(1)
_SIZE: Final = Whole(0)
_ANY: Final = Whole()
_LONG: Final = Whole(-_LONG_MAX - 1, _LONG_MAX)
_PATH: Final = NonEmpty("a path")
_NO_POOLS: Final = "Java's thread pools; one thread answers everything here"
_NO_NETTY: Final = "Netty's; nothing here"
_OUTBOUND: Final = "outbound connections of Java's NameServer"


def _rows(group: Group, *rows: tuple[str, Type, Value, How, str]) -> tuple[Setting, ...]:
    return tuple(Setting(group, *row) for row in rows)


# In the order in which Java declares them, which is the order of `mqnamesrv -p`.
# A path of "" stands for a file in the home folder.
SETTINGS: Final = (
    *_rows(
        Group.NAMESRV,
        ("rocketmqHome", _PATH, "", How.FIXED, "shown only; the home folder unless set"),
        ("kvConfigPath", _PATH, "", How.FIXED, "the KV file; `kvConfig.json` in the home folder unless set"),
        ("configStorePath", _PATH, "", How.FIXED,
         "where 318 saves; the `-c` file, or `namesrv.properties` in the home folder"),
        ("productEnvName", Text(), "center", How.UNUSED,
         "Java's address server; see `routebook.productNamesrvAddr`"),
        ("clusterTest", _FLAG, False, How.RESTART,
         "ask the product environment's NameServers for topics not known here"),
        ("orderMessageEnable", _FLAG, False, How.RUNTIME, "routes carry the order configuration of their topic"),
        ("returnOrderTopicConfigToBroker", _FLAG, True, How.RUNTIME,
         "a registration is answered with the order configuration"),
        ("clientRequestThreadPoolNums", _COUNT, 8, How.UNUSED, _NO_POOLS),
        ("defaultThreadPoolNums", _COUNT, 16, How.UNUSED, _NO_POOLS),
        ("clientRequestThreadPoolQueueCapacity", _COUNT, 50_000, How.UNUSED, _NO_POOLS),
        ("defaultThreadPoolQueueCapacity", _COUNT, 10_000, How.UNUSED, _NO_POOLS),
        ("scanNotActiveBrokerInterval", Whole(1, _LONG_MAX), 5_000, How.RESTART,
         "ms between two scans for silent brokers"),
        ("unRegisterBrokerQueueCapacity", _COUNT, 3_000, How.UNUSED, "an unregistration is done at once here"),
        ("supportActingMaster", _FLAG, False, How.RUNTIME, "a slave stands in for a lost master, read-only"),
        ("enableAllTopicList", _FLAG, True, How.RUNTIME, "answer 206"),
        ("enableTopicList", _FLAG, True, How.RUNTIME, "answer 224, 311, 312, 313"),
        ("notifyMinBrokerIdChanged", _FLAG, False, How.RUNTIME,
         "tell brokers by 905 who has the least id of their group"),
        ("enableControllerInNamesrv", _FLAG, False, How.RESTART,
         "must be false: run RocketMQ's Controller beside Routebook"),
        ("needWaitForService", _FLAG, False, How.RUNTIME, "answer no route for the first seconds after the start"),
        ("waitSecondsForService", _ANY, 45, How.RUNTIME, "how many seconds"),
        ("deleteTopicWithBrokerRegistration", _FLAG, False, How.RUNTIME,
         "a topic that a broker no longer registers goes"),
        ("configBlackList", Text(), "configBlackList;configStorePath;kvConfigPath", How.FIXED,
         "further keys that 318 must not touch, parted by semicolons"),
    ),
    *_rows(
        Group.SERVER,
        ("bindAddress", NonEmpty("a host name or address"), "127.0.0.1", How.FIXED,
         "the address to listen on (Java: 0.0.0.0)"),
        ("listenPort", Whole(0, 65535), 9876, How.FIXED, "the port to listen on; 0 takes a free one"),
        ("serverWorkerThreads", _COUNT, 8, How.UNUSED, _NO_POOLS),
        ("serverCallbackExecutorThreads", _ANY, 0, How.UNUSED, _NO_POOLS),
        ("serverSelectorThreads", _SIZE, 3, How.UNUSED, _NO_POOLS),
        ("serverOnewaySemaphoreValue", _ANY, 256, How.UNUSED, _NO_NETTY),
        ("serverAsyncSemaphoreValue", _ANY, 64, How.UNUSED, _NO_NETTY),
        ("serverChannelMaxIdleTimeSeconds", _SIZE, 120, How.RESTART,
         "close a connection that is idle for so many seconds; 0: never"),
        ("serverSocketSndBufSize", _SIZE, 0, How.RESTART, "send buffer of a connection in bytes; 0: the system's"),
        ("serverSocketRcvBufSize", _SIZE, 0, How.RESTART,
         "receive buffer of a connection in bytes; 0: the system's"),
        ("writeBufferHighWaterMark", _SIZE, 0, How.RESTART,
         "stop reading from a peer that leaves so many bytes unread; 0: 65536"),
        ("writeBufferLowWaterMark", _SIZE, 0, How.RESTART, "and go on below this; 0: 32768"),
        ("serverSocketBacklog", _ANY, 1024, How.UNUSED, "1024 always, as in Java"),
        ("serverNettyWorkerGroupEnable", _FLAG, True, How.UNUSED, _NO_NETTY),
        ("serverPooledByteBufAllocatorEnable", _FLAG, True, How.UNUSED, _NO_NETTY),
        ("enableShutdownGracefully", _FLAG, False, How.RUNTIME, "on stop, answer GO_AWAY for a while first"),
        ("shutdownWaitTimeSeconds", _SIZE, 30, How.RUNTIME, "for how many seconds"),
        ("useEpollNativeSelector", _FLAG, False, How.UNUSED, _NO_NETTY),
    ),
    *_rows(
        Group.CLIENT,
        ("clientWorkerThreads", _ANY, 4, How.UNUSED, _OUTBOUND),
        ("clientCallbackExecutorThreads", _ANY, 1, How.UNUSED, _OUTBOUND),
        ("clientOnewaySemaphoreValue", _ANY, 65535, How.UNUSED, _OUTBOUND),
        ("clientAsyncSemaphoreValue", _ANY, 65535, How.UNUSED, _OUTBOUND),
        ("connectTimeoutMillis", _ANY, 3000, How.UNUSED, _OUTBOUND),
        ("channelNotActiveInterval", _LONG, 60_000, How.UNUSED, _OUTBOUND),
        ("isScanAvailableNameSrv", _FLAG, True, How.UNUSED, _OUTBOUND),
        ("clientChannelMaxIdleTimeSeconds", _ANY, 120, How.UNUSED, _OUTBOUND),
        ("clientSocketSndBufSize", _ANY, 0, How.UNUSED, _OUTBOUND),
        ("clientSocketRcvBufSize", _ANY, 0, How.UNUSED, _OUTBOUND),
        ("clientPooledByteBufAllocatorEnable", _FLAG, False, How.UNUSED, _OUTBOUND),
        ("clientCloseSocketIfTimeout", _FLAG, True, How.UNUSED, _OUTBOUND),
        ("useTLS", _FLAG, False, How.UNUSED, _OUTBOUND),
        ("socksProxyConfig", Text(), "{}", How.UNUSED, _OUTBOUND),
        ("disableCallbackExecutor", _FLAG, False, How.UNUSED, _OUTBOUND),
        ("disableNettyWorkerGroup", _FLAG, False, How.UNUSED, _OUTBOUND),
        ("maxReconnectIntervalTimeSeconds", _LONG, 60, How.UNUSED, _OUTBOUND),
        ("enableReconnectForGoAway", _FLAG, True, How.UNUSED, _OUTBOUND),
    ),
    *_rows(
        Group.ROUTEBOOK,
        ("routebook.maxTopicsPerRegistration", Whole(1, 10_000_000), 100_000, How.FIXED,
         "refuse a registration with more topics"),
        ("routebook.maxInflatedBytes", Whole(1024), 64 << 20, How.FIXED,
         "refuse a compressed body that is larger inflated"),
        ("routebook.auth.file", Text("a path"), "", How.FIXED,
         "who may ask what, a file of mode 0600; empty: everybody may ask everything. See docs/security.md"),
        ("routebook.proxyNetworks", Networks(), "", How.FIXED,
         "load balancers whose PROXY header is believed where addresses decide: limits, identities' networks"),
        ("routebook.limits.connections", _SIZE, 50_000, How.FIXED,
         "close further connections to the NameServer port; 0: as many as there are"),
        ("routebook.limits.connectionsPerAddress", _SIZE, 20_000, How.FIXED,
         "and of one address; 0: as many as there are"),
        ("routebook.limits.requestsPerSecond", _SIZE, 0, How.FIXED,
         "answer further look-ups of one address SYSTEM_BUSY; 0: answer all"),
        ("routebook.limits.busyMillis", _SIZE, 3000, How.FIXED,
         "answer look-ups SYSTEM_BUSY while requests wait for so long; 0: never"),
        ("routebook.limits.frameBytes", Whole(1024, 16 << 20), 16 << 20, How.FIXED,
         "close a connection that announces a longer frame (Java: `com.rocketmq.remoting.frameMaxLength`)"),
        ("routebook.limits.frameSeconds", _SIZE, 60, How.FIXED,
         "close a connection whose frame is not there after so many seconds; 0: wait"),
        ("routebook.limits.firstRequestSeconds", _SIZE, 120, How.FIXED,
         "close a connection that has asked nothing after so many seconds; 0: wait"),
        ("routebook.limits.unreadBytes", _SIZE, 64 << 20, How.FIXED,
         "close a connection whose peer leaves more unread; 0: keep it all"),
        ("routebook.limits.bufferBytes", _SIZE, 512 << 20, How.FIXED,
         "memory for half-received frames and unread answers of all connections; the largest go; 0: no limit"),
        ("routebook.limits.nameLength", Whole(255), 1024, How.FIXED,
         "refuse names of topics, brokers, clusters, KV keys with more characters"),
        ("routebook.routeCacheBytes", _SIZE, 256 << 20, How.FIXED,
         "memory for encoded routes; 0: encode each time"),
        ("routebook.serializeType", OneOf(("JSON", "ROCKETMQ")), "JSON", How.FIXED,
         "header form of answers (Java: `rocketmq.serialize.type`)"),
        ("routebook.productNamesrvAddr", Addresses(), "", How.FIXED,
         "clusterTest: the product environment's NameServers; also `-n`"),
        ("routebook.drainSeconds", Whole(0, 3600), 10, How.FIXED,
         "on stop, wait so long for answers that are under way"),
        ("routebook.journal.enabled", _FLAG, True, How.FIXED,
         "remember what happens: off, this is a NameServer without past, like Java's"),
        ("routebook.journal.commitMillis", Whole(0, 10_000), 50, How.FIXED,
         "what happens within so many ms goes to disk together"),
        ("routebook.journal.segmentMegabytes", Whole(1, 1024), 16, How.FIXED, "begin a new file after so much"),
        ("routebook.journal.retainDays", Whole(1, 36_500), 30, How.FIXED, "remove files that are older"),
        ("routebook.journal.retainMegabytes", Whole(1), 2048, How.FIXED, "and the oldest when there is more than this"),
        ("routebook.journal.snapshotSeconds", Whole(1, 86_400), 300, How.FIXED,
         "seconds between two snapshots of the tables, so that a start need not read the whole journal"),
        ("routebook.lookupKeysPerMinute", _SIZE, 1000, How.FIXED,
         "count look-ups a minute of so many pairs of topic and client; the others as one"),
        ("routebook.recoveredLeaseSeconds", Whole(0, 86_400), 120, How.FIXED,
         "after a restart, wait so long for a broker known from before, or its own timeout if that is less"),
        ("routebook.preservation.enabled", _FLAG, True, How.FIXED,
         "keep routes when most brokers fall silent at once"),
        ("routebook.preservation.share", Whole(0, 100), 50, How.FIXED, "when more than so many of 100 do"),
        ("routebook.preservation.minimum", _COUNT, 5, How.FIXED, "and at least so many"),
        ("routebook.preservation.windowSeconds", Whole(1, 3600), 30, How.FIXED, "within so many seconds"),
        ("routebook.preservation.maxSeconds", Whole(1, 86_400), 600, How.FIXED, "for so many seconds at most"),
        ("routebook.http.listen", Port(), "127.0.0.1:8876", How.FIXED,
         "where HTTP is served: health, metrics, API, events; port 0 takes a free one; also `--http`"),
        ("routebook.http.hosts", Text("names parted by commas"), "", How.FIXED,
         "names that this machine is asked by over HTTP, beside addresses, localhost and its own; `*`: any"),
        ("routebook.http.watchers", Whole(0, 100_000), 2000, How.FIXED, "how many may follow `/v1/events` at a time"),
        ("routebook.console.enabled", _FLAG, True, How.FIXED, "serve the console at `/`, and what it alone needs"),
        ("routebook.console.sessionMinutes", Whole(1, 10_080), 480, How.FIXED,
         "a login to the console ends after so many minutes"),
        ("routebook.console.loginAttempts", Whole(1, 10_000), 5, How.FIXED,
         "how many logins may fail a minute for each address that tries; then it has to wait"),
        ("routebook.console.compare", OneOf(("peers", "guarded", "any")), "guarded", How.FIXED,
         ("which NameServers the console may compare with: `routebook.peers` alone; with `guarded` any address if an"
          " administrator asks, or if HTTP listens on this machine only; with `any` whoever asks")),
        ("routebook.peers", Peers(), "", How.FIXED,
         "other NameServers to compare routes with, Java's or Routebook's; see docs/peers.md"),
        ("routebook.peers.accessKey", Text(), "", How.FIXED, "who asks them, where they want to know"),
    ),
    Setting(Group.ROUTEBOOK, "routebook.peers.secretKey", Text(), "", How.FIXED,
            "and its secret; sent as it is over HTTP, and never printed", secret=True),
    *_rows(
        Group.ROUTEBOOK,
        ("routebook.peers.intervalSeconds", Whole(1, 86_400), 60, How.FIXED, "how often"),
        ("routebook.peers.divergedSeconds", Whole(0, 86_400), 120, How.FIXED,
         "a difference that lasts longer is not on its way any more"),
        ("routebook.logFormat", OneOf(("text", "json")), "text", How.FIXED, "log lines for people or for machines"),
        ("routebook.logLevel", OneOf(("debug", "info", "warning", "error")), "info", How.FIXED,
         "leave out what is less than this"),
        ("routebook.tls.mode", OneOf(("disabled", "permissive", "enforcing")), "permissive", How.FIXED,
         "TLS on the NameServer port: refused, possible, required"),
        ("routebook.tls.testMode", _FLAG, True, How.FIXED,
         "a self-signed certificate made at start; key and certificate are not read"),
        ("routebook.tls.keyPath", Text("a path"), "", How.FIXED, "the private key, PEM"),
    ),
    Setting(Group.ROUTEBOOK, "routebook.tls.keyPassword", Text(), "", How.FIXED,
            "its password; never printed", secret=True),
    *_rows(
        Group.ROUTEBOOK,
        ("routebook.tls.certPath", Text("a path"), "", How.FIXED, "the certificate chain, PEM"),
        ("routebook.tls.needClientAuth", OneOf(("none", "optional", "require")), "none", How.FIXED,
         "ask clients for a certificate"),
        ("routebook.tls.authClient", _FLAG, False, How.FIXED, "check it against `routebook.tls.trustCertPath`"),
        ("routebook.tls.trustCertPath", Text("a path"), "", How.FIXED,
         "certificates of those who may sign clients' certificates, PEM"),
        ("routebook.tls.ciphers", Text("names parted by commas"), "", How.FIXED, "empty: the library's choice"),
        ("routebook.tls.protocols", Text("names parted by commas"), "", How.FIXED,
         "such as `TLSv1.2,TLSv1.3`; empty: the library's choice"),
        ("routebook.tls.configFile", Text("a path"), "/etc/rocketmq/tls.properties", How.FIXED,
         "a file with Java's `tls.` keys; read if it is there"),
    ),
)  # fmt: skip

BY_KEY: Final = {setting.key: setting for setting in SETTINGS}
BY_ENV: Final = {setting.env: setting for setting in SETTINGS}

LISTEN: Final = "routebook.listen"  # short for bindAddress and listenPort: HOST:PORT
LISTEN_ENV: Final = "ROUTEBOOK_LISTEN"
PRODUCT_NAMESRV_ADDR: Final = "routebook.productNamesrvAddr"
HTTP_LISTEN: Final = "routebook.http.listen"
TLS_CONFIG_FILE: Final = "routebook.tls.configFile"

# What Java takes as -Dkey=value and not in its settings file, and the setting it is here.
JAVA_TLS_KEYS: Final = {
    "tls.server.mode": "routebook.tls.mode",
    "tls.test.mode.enable": "routebook.tls.testMode",
    "tls.server.keyPath": "routebook.tls.keyPath",
    "tls.server.keyPassword": "routebook.tls.keyPassword",
    "tls.server.certPath": "routebook.tls.certPath",
    "tls.server.need.client.auth": "routebook.tls.needClientAuth",
    "tls.server.authClient": "routebook.tls.authClient",
    "tls.server.trustCertPath": "routebook.tls.trustCertPath",
    "tls.ciphers": "routebook.tls.ciphers",
    "tls.protocols": "routebook.tls.protocols",
}
JAVA_OPTIONS: Final = JAVA_TLS_KEYS | {
    "tls.config.file": TLS_CONFIG_FILE,
    "rocketmq.serialize.type": "routebook.serializeType",
    "rocketmq.namesrv.addr": PRODUCT_NAMESRV_ADDR,
    "rocketmq.home.dir": "rocketmqHome",
    "com.rocketmq.remoting.socket.sndbuf.size": "serverSocketSndBufSize",
    "com.rocketmq.remoting.socket.rcvbuf.size": "serverSocketRcvBufSize",
    "com.rocketmq.remoting.write.buffer.high.water.mark": "writeBufferHighWaterMark",
    "com.rocketmq.remoting.write.buffer.low.water.mark": "writeBufferLowWaterMark",
}
JAVA_ENVIRONMENT: Final = {"ROCKETMQ_SERIALIZE_TYPE": "routebook.serializeType"}
# For connections that Java's NameServer opens itself; here they are plain.
JAVA_CLIENT_TLS_KEYS: Final = frozenset(
    {
        "tls.enable",
        "tls.client.keyPath",
        "tls.client.keyPassword",
        "tls.client.certPath",
        "tls.client.authServer",
        "tls.client.trustCertPath",
    }
)
