"""Random steps, the same for the same seed: every request code, every form of registration, dropped connections."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from tests.support.differential.names import BROKERS, CLUSTERS, NAMESPACES, SHARED_TOPICS, TOPICS, ZONES, Broker
from tests.support.differential.oddities import Oddities
from tests.support.differential.steps import Ask, Drop, Register, Step, Topic, plain_json

VERSIONS: Final = (513, 513, 513, 479, 413, 412, 409, 401, 400, 317, 121, 63, 37, 36, 0, 612, 613, 9999, -1)
OTHER_CODES: Final = (0, 1, 10, 34, 99, 107, 203, 314, 905, 1001, 1005, 9999, -1, 32767)
BROKER_IDS: Final = (0, 0, 0, 0, 1, 1, 1, 2, 2, 7, -3, 2**40)
RUN_TIME_FLAGS: Final = (
    "deleteTopicWithBrokerRegistration",
    "enableAllTopicList",
    "enableTopicList",
    "needWaitForService",
    "orderMessageEnable",
    "returnOrderTopicConfigToBroker",
    "supportActingMaster",
    "supportActingMaster",
)


class Generator:
    """Draws steps; knows nothing of the servers."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._odd = Oddities(self._random)
        self._kinds: tuple[tuple[int, Callable[[], Step]], ...] = (
            (26, self._register),
            (7, self._unregister),
            (7, self._drop),
            (14, self._route),
            (12, self._question),
            (5, self._register_topic),
            (3, self._delete_topic),
            (4, self._permissions),
            (8, self._kv),
            (4, self._data_version),
            (4, self._settings),
            (2, self._unknown_code),
            (8, self._odd.header),
            (3, self._odd.frame),
            (6, self._odd.registration),
            (3, self._odd.body),
        )

    def steps(self, count: int) -> list[Step]:
        weights, kinds = zip(*self._kinds, strict=True)
        return [kind() for kind in self._random.choices(kinds, weights, k=count)]

    # --- how a request looks ------------------------------------------------------------------------------------------

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _ask(self, code: int, ext: Mapping[str, str] | None = None, body: bytes = b"", *, conn: str = "") -> Ask:
        """A request with all that may vary varied; now and then a field is missing."""
        rng = self._random
        fields = dict(ext) if ext is not None else None
        if fields and self._chance(0.04):
            del fields[rng.choice(list(fields))]
        if fields is not None and self._chance(0.03):
            fields["unknownField"] = "x"
        if not fields and self._chance(0.3):
            fields = None if fields is not None else {}
        ask = Ask(
            conn=conn or rng.choice(("q0", "q0", "q1", "q2")),
            code=code,
            ext=fields,
            body=body,
            opaque=rng.choice((1, 2, 99, -1, -(2**31), 2**31 - 1, rng.randrange(1 << 20))),
            version=rng.choice(VERSIONS),
            binary=-(2**15) <= code < 2**15 and self._chance(0.4),
        )
        if self._chance(0.03):
            ask = replace(ask, flag=rng.choice((1, 2, 2, 3)))
        return ask

    def _broker(self) -> Broker:
        return self._random.choice(BROKERS)

    def _broker_fields(self, *, unknown: float = 0.1) -> dict[str, str]:
        broker = self._broker()
        fields = {
            "clusterName": broker.cluster,
            "brokerName": broker.name,
            "brokerAddr": self._random.choice(broker.addrs),
            "brokerId": str(self._random.choice(BROKER_IDS)),
        }
        if self._chance(unknown):
            fields |= {"brokerName": "unknown@@", "brokerAddr": "127.0.0.1:99"}
        return fields

    def _topic(self) -> str:
        return "unknown@@" if self._chance(0.08) else self._random.choice(TOPICS)

    # --- brokers ------------------------------------------------------------------------------------------------------

    def _register(self) -> Register:
        rng = self._random
        broker = self._broker()
        number = rng.randrange(len(broker.addrs))
        version = rng.choice(VERSIONS)
        deflated = version >= 37 and self._chance(0.25)
        mappings = {}
        if version >= 37 and self._chance(0.3) and not (deflated and version < 413):
            mappings[broker.static_topic] = self._mapping(broker)
        extra = {"haServerAddr": f"127.0.0.1:{9000 + number}"} if self._chance(0.9) else {}
        if self._chance(0.8):
            extra["enableActingMaster"] = rng.choice(("true", "true", "false", "TRUE", "x"))
        if self._chance(0.35):
            extra["__ZONE_NAME"] = rng.choice(ZONES)
        if self._chance(0.15):
            extra["heartbeatTimeoutMillis"] = rng.choice(("120000", "600000", "x", ""))
        return Register(
            conn=f"{broker.name} {number} {rng.choice('aab')}",
            cluster=broker.cluster,
            broker=broker.name,
            addr=broker.addrs[number],
            broker_id=rng.choice(BROKER_IDS),
            topics=None if not deflated and self._chance(0.02) else self._topics(broker, deflated=deflated),
            counter=rng.randrange(3),
            state_version=rng.choice((0, 0, 0, 1, 2)),
            timestamp=1000 + rng.randrange(2),
            mappings=mappings,
            filter_servers=rng.choice(((), (), (), ("10.1.1.1:1",), ("10.1.1.1:1", "10.1.1.2:2"))),
            extra=extra,
            without=frozenset(rng.sample(("clusterName", "brokerName", "brokerAddr", "brokerId"), 1))
            if self._chance(0.02)
            else frozenset(),
            form="deflated" if deflated else "none" if self._chance(0.04) else "json",
            spoil=rng.choice(("crc", "cut", "junk")) if self._chance(0.04) else "",
            checked=self._chance(0.6),
            opaque=rng.randrange(1 << 20),
            version=version,
            binary=version < 2**15 and self._chance(0.4),
        )

    def _topics(self, broker: Broker, *, deflated: bool) -> tuple[Topic, ...]:
        """Some or all of a broker's topics; one alone is how a broker tells of a change."""
        rng = self._random
        own = (broker.static_topic, broker.sync_topic, broker.name)
        flags = dict(SHARED_TOPICS) | dict.fromkeys(own, 0)
        count = rng.choice((0, 1, 2, 2, 3, 4, 6))
        names = [name for name in rng.sample(list(flags), count) if not (deflated and flags[name])]
        return tuple(
            Topic(
                name=name,
                perm=rng.choice((6, 6, 6, 4, 2, 7, 5, 0, 15)),
                read=rng.choice((4, 4, 8, 0, 16)),
                write=rng.choice((4, 4, 8, 0, 16)),
                sys_flag=flags[name],
            )
            for name in names
        )

    def _mapping(self, broker: Broker) -> dict[str, Any]:
        rng = self._random
        return {
            "bname": broker.name,
            "currIdMap": {rng.randrange(12): rng.randrange(8) for _ in range(rng.randrange(4))},
            "dirty": False,
            "epoch": rng.randrange(4),
            "scope": "__global__",
            "topic": broker.static_topic,
            "totalQueues": 8,
        }

    def _unregister(self) -> Ask:
        """Sent by the broker itself over its connection, or by another client."""
        fields = self._broker_fields()
        own = [
            f"{b.name} {b.addrs.index(fields['brokerAddr'])} {self._random.choice('aab')}"
            for b in BROKERS
            if fields["brokerAddr"] in b.addrs
        ]
        conn = own[0] if own and self._chance(0.5) else "q1"
        if self._chance(0.05):
            fields["brokerId"] = "x"
        return self._ask(104, fields, conn=conn)

    def _drop(self) -> Drop:
        broker = self._broker()
        number = self._random.randrange(len(broker.addrs))
        own = f"{broker.name} {number} {self._random.choice('aab')}"
        return Drop(conn="q2" if self._chance(0.1) else own)

    def _data_version(self) -> Ask:
        rng = self._random
        version = {
            "counter": rng.randrange(3),
            "stateVersion": rng.choice((0, 0, 1)),
            "timestamp": 1000 + rng.randrange(2),
        }
        body = b"" if self._chance(0.1) else plain_json(version).encode()
        if self._chance(0.3):
            return self._ask(904, self._broker_fields(unknown=0.3))
        return self._ask(322, self._broker_fields(unknown=0.3), body)

    # --- questions ----------------------------------------------------------------------------------------------------

    def _route(self) -> Ask:
        rng = self._random
        fields = {"topic": self._topic()}
        if self._chance(0.2):
            fields["acceptStandardJsonOnly"] = rng.choice(("true", "false", "True", "1"))
        if self._chance(0.3):
            fields["__ZONE_MODE"] = rng.choice(("true", "TRUE", "false", "x"))
        if self._chance(0.3):
            fields["__ZONE_NAME"] = rng.choice((*ZONES, "nowhere", "  "))
        return self._ask(105, fields)

    def _question(self) -> Ask:
        rng = self._random
        code = rng.choice((106, 206, 224, 304, 311, 312, 313, 319, 901))
        if code == 224:
            return self._ask(code, {"cluster": rng.choice((*CLUSTERS, "nowhere"))})
        if code == 901:
            fields = self._broker_fields()
            return self._ask(code, {"clusterName": fields["clusterName"], "brokerName": fields["brokerName"]})
        return self._ask(code)

    def _unknown_code(self) -> Ask:
        return self._ask(self._random.choice(OTHER_CODES), {"topic": self._topic()})

    # --- topics, KV, settings -----------------------------------------------------------------------------------------

    def _register_topic(self) -> Ask:
        rng = self._random
        topic = self._topic()
        brokers = rng.sample([*(b.name for b in BROKERS), "unknown@@"], rng.choice((0, 1, 1, 2)))
        queues = [
            {
                "brokerName": broker,
                "perm": rng.choice((6, 4, 2)),
                "readQueueNums": rng.randrange(9),
                "topicSysFlag": SHARED_TOPICS.get(topic, 0),
                "writeQueueNums": rng.randrange(9),
            }
            for broker in brokers
        ]
        body = plain_json({"brokerDatas": [], "filterServerTable": {}, "queueDatas": queues}).encode()
        return self._ask(217, {"topic": topic}, b"" if self._chance(0.05) else body)

    def _delete_topic(self) -> Ask:
        fields = {"topic": self._topic()}
        if self._chance(0.5):
            fields["clusterName"] = self._random.choice((*CLUSTERS, "nowhere", ""))
        return self._ask(216, fields)

    def _permissions(self) -> Ask:
        fields = self._broker_fields()
        return self._ask(self._random.choice((205, 327)), {"brokerName": fields["brokerName"]})

    def _kv(self) -> Ask:
        rng = self._random
        code = rng.choice((100, 100, 101, 102, 219))
        fields = {"namespace": rng.choice((*NAMESPACES, "nowhere@@")) if code != 100 else rng.choice(NAMESPACES)}
        if code != 219:
            fields["key"] = rng.choice((*list(SHARED_TOPICS)[:3], "k/é@@"))
        if code == 100:
            fields["value"] = rng.choice(("b0@@:4", "b0@@:4;b1@@:8", "é/\"\\<>'", "", "\u2028x\x7f"))
        return self._ask(code, fields)

    def _settings(self) -> Ask:
        rng = self._random
        lines = []
        for _ in range(rng.choice((1, 1, 2, 3))):
            key = rng.choice(RUN_TIME_FLAGS)
            back = "false" if key in ("needWaitForService", "deleteTopicWithBrokerRegistration") else "true"
            sign = rng.choice(("=", " = ", ":", "="))
            lines.append(key + sign + rng.choice((back, back, "true", "false", "TRUE", "x", " true ")))
        if self._chance(0.5):  # the gate and the switches do not stay shut for long, or little would be seen
            lines += ["enableTopicList=true", "enableAllTopicList=true", "needWaitForService=false"]
        if self._chance(0.15):
            lines.append(f"waitSecondsForService={rng.choice(('-1', '100000', 'x', '99999999999', '1e3'))}")
        if self._chance(0.1):
            lines = [rng.choice(("kvConfigPath=/x", "configBlackList=a", "configStorePath=/x", "rocketmqHome=/x"))]
        if self._chance(0.1):
            lines = [rng.choice(("listenPort=1", "bindAddress=1.2.3.4", "routebook.home=/x"))]
        if self._chance(0.1):
            lines.append(rng.choice(("unknownKey=1", "defaultThreadPoolNums=9", "scanNotActiveBrokerInterval=7000")))
        if self._chance(0.05):
            lines.append(rng.choice(("# only a comment", "a=\\u00zz", "enableTopicList", "é=ü", "\\")))
        return self._ask(318, None, "\n".join(lines).encode())
