"""Java's settings: NamesrvConfig, NettyServerConfig and NettyClientConfig, and its JVM options."""

from typing import Final

from routebook.settings.setting import Group, How, rows
from routebook.settings.types import LONG_MAX, Flag, NonEmpty, Text, Whole

_FLAG: Final = Flag()
_COUNT: Final = Whole(1)
_SIZE: Final = Whole(0)
_ANY: Final = Whole()
_LONG: Final = Whole(-LONG_MAX - 1, LONG_MAX)
_PATH: Final = NonEmpty("a path")
_NO_POOLS: Final = "Java's thread pools; one thread answers all requests here"
_NO_NETTY: Final = "an option of Netty"
_OUTBOUND: Final = "outbound connections of Java's NameServer"

# In the order in which Java declares them, which is the order of `mqnamesrv -p`.
# An empty path stands for a file in the home folder.
JAVA_SETTINGS: Final = (
    *rows(
        Group.NAMESRV,
        ("rocketmqHome", _PATH, "", How.FIXED, "shown only; default: the home folder"),
        ("kvConfigPath", _PATH, "", How.FIXED, "the KV file; default: `kvConfig.json` in the home folder"),
        ("configStorePath", _PATH, "", How.FIXED,
         "where 318 saves; default: the `-c` file, or `namesrv.properties` in the home folder"),
        ("productEnvName", Text(), "center", How.UNUSED,
         "Java's address server; see `routebook.productNamesrvAddr`"),
        ("clusterTest", _FLAG, False, How.RESTART,
         "look up unknown topics at the NameServers of the production environment"),
        ("orderMessageEnable", _FLAG, False, How.RUNTIME, "include the order configuration of a topic in its route"),
        ("returnOrderTopicConfigToBroker", _FLAG, True, How.RUNTIME,
         "return the order configuration to a registering broker"),
        ("clientRequestThreadPoolNums", _COUNT, 8, How.UNUSED, _NO_POOLS),
        ("defaultThreadPoolNums", _COUNT, 16, How.UNUSED, _NO_POOLS),
        ("clientRequestThreadPoolQueueCapacity", _COUNT, 50_000, How.UNUSED, _NO_POOLS),
        ("defaultThreadPoolQueueCapacity", _COUNT, 10_000, How.UNUSED, _NO_POOLS),
        ("scanNotActiveBrokerInterval", Whole(1, LONG_MAX), 5_000, How.RESTART,
         "milliseconds between two scans for expired brokers"),
        ("unRegisterBrokerQueueCapacity", _COUNT, 3_000, How.UNUSED, "brokers are unregistered at once here"),
        ("supportActingMaster", _FLAG, False, How.RUNTIME,
         "a slave acts as master, read-only, when the master is lost"),
        ("enableAllTopicList", _FLAG, True, How.RUNTIME, "answer 206"),
        ("enableTopicList", _FLAG, True, How.RUNTIME, "answer 224, 311, 312, 313"),
        ("notifyMinBrokerIdChanged", _FLAG, False, How.RUNTIME,
         "notify brokers (905) when the lowest broker id of their group changes"),
        ("enableControllerInNamesrv", _FLAG, False, How.RESTART,
         "run a Controller in this process; see docs/controller.md"),
        ("needWaitForService", _FLAG, False, How.RUNTIME, "reject look-ups in the first seconds after the start"),
        ("waitSecondsForService", _ANY, 45, How.RUNTIME, "the number of these seconds"),
        ("deleteTopicWithBrokerRegistration", _FLAG, False, How.RUNTIME,
         "remove topics that a broker no longer registers"),
        ("configBlackList", Text(), "configBlackList;configStorePath;kvConfigPath", How.FIXED,
         "further keys that 318 must not change, separated by semicolons"),
    ),
    *rows(
        Group.SERVER,
        ("bindAddress", NonEmpty("a host name or address"), "127.0.0.1", How.FIXED,
         "the address to listen on (Java: 0.0.0.0)"),
        ("listenPort", Whole(0, 65535), 9876, How.FIXED, "the port to listen on; 0: a free port"),
        ("serverWorkerThreads", _COUNT, 8, How.UNUSED, _NO_POOLS),
        ("serverCallbackExecutorThreads", _ANY, 0, How.UNUSED, _NO_POOLS),
        ("serverSelectorThreads", _SIZE, 3, How.UNUSED, _NO_POOLS),
        ("serverOnewaySemaphoreValue", _ANY, 256, How.UNUSED, _NO_NETTY),
        ("serverAsyncSemaphoreValue", _ANY, 64, How.UNUSED, _NO_NETTY),
        ("serverChannelMaxIdleTimeSeconds", _SIZE, 120, How.RESTART,
         "close a connection after this many idle seconds; 0: never"),
        ("serverSocketSndBufSize", _SIZE, 0, How.RESTART, "send buffer of a connection in bytes; 0: system default"),
        ("serverSocketRcvBufSize", _SIZE, 0, How.RESTART,
         "receive buffer of a connection in bytes; 0: system default"),
        ("writeBufferHighWaterMark", _SIZE, 0, How.RESTART,
         "stop reading from a peer with more unread bytes of answers; 0: 65536"),
        ("writeBufferLowWaterMark", _SIZE, 0, How.RESTART, "resume reading below this; 0: 32768"),
        ("serverSocketBacklog", _ANY, 1024, How.UNUSED, "always 1024, as in Java"),
        ("serverNettyWorkerGroupEnable", _FLAG, True, How.UNUSED, _NO_NETTY),
        ("serverPooledByteBufAllocatorEnable", _FLAG, True, How.UNUSED, _NO_NETTY),
        ("enableShutdownGracefully", _FLAG, False, How.RUNTIME, "on stop, first answer GO_AWAY for some time"),
        ("shutdownWaitTimeSeconds", _SIZE, 30, How.RUNTIME, "seconds to answer GO_AWAY"),
        ("useEpollNativeSelector", _FLAG, False, How.UNUSED, _NO_NETTY),
    ),
    *rows(
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
)  # fmt: skip

TLS_CONFIG_FILE: Final = "routebook.tls.configFile"

# Java's options that are passed as -Dkey=value and not in the settings file, and the setting that replaces each.
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
    "rocketmq.namesrv.addr": "routebook.productNamesrvAddr",
    "rocketmq.home.dir": "rocketmqHome",
    "com.rocketmq.remoting.socket.sndbuf.size": "serverSocketSndBufSize",
    "com.rocketmq.remoting.socket.rcvbuf.size": "serverSocketRcvBufSize",
    "com.rocketmq.remoting.write.buffer.high.water.mark": "writeBufferHighWaterMark",
    "com.rocketmq.remoting.write.buffer.low.water.mark": "writeBufferLowWaterMark",
}
JAVA_ENVIRONMENT: Final = {"ROCKETMQ_SERIALIZE_TYPE": "routebook.serializeType"}
# TLS of connections that Java's NameServer opens itself; here they are plain.
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
