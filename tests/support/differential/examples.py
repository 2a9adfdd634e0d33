"""For each known difference, the steps that show it: without its rule the two servers differ, with it they do not."""

import zlib
from dataclasses import replace
from typing import Final

from tests.support.differential.names import BROKERS, CLUSTERS
from tests.support.differential.steps import Ask, Drop, OddRegister, Raw, Register, Step, Topic, plain_json

GROUP: Final = BROKERS[0]
TWO_TOPICS: Final = (Topic(name="t0@@"), Topic(name=GROUP.static_topic))
MAPPING: Final = {
    "bname": GROUP.name,
    "currIdMap": {0: 0},
    "dirty": False,
    "epoch": 1,
    "scope": "__global__",
    "topic": GROUP.static_topic,
    "totalQueues": 1,
}
MASTER: Final = Register(
    conn="m", cluster=GROUP.cluster, broker=GROUP.name, addr=GROUP.addrs[0], broker_id=0, topics=TWO_TOPICS
)
SLAVE: Final = replace(MASTER, conn="s", addr=GROUP.addrs[1], broker_id=1, extra={"enableActingMaster": "true"})


def _unregister(register: Register, *, conn: str, **changed: str) -> Ask:
    ext = {
        "clusterName": register.cluster,
        "brokerName": register.broker,
        "brokerAddr": register.addr,
        "brokerId": str(register.broker_id),
    }
    kept = {key: value for key, value in {**ext, **changed}.items() if value}
    return Ask(conn=conn, code=104, ext=kept)


def _odd(body: bytes, **ext: str) -> OddRegister:
    names = {
        "clusterName": "odd@@",
        "brokerName": "odd@@",
        "brokerAddr": "odd@@:1",
        "brokerId": "0",
        "compressed": "false",
    }
    return OddRegister(name="odd", body=body, ext={**names, **ext}, about="example")


def _odd_table(**wrapper: object) -> bytes:
    table = {name: Topic(name=name).config() for name in ("odd-0@@", "odd-1@@")}
    content = {"dataVersion": {"counter": 1, "stateVersion": 0, "timestamp": 1}, "topicConfigTable": table, **wrapper}
    return plain_json({"topicConfigSerializeWrapper": content}).encode()


COMPACT: Final = b"\0\0\0\2{}" + b"\0\0\0\0" + b"\0\0\0\2[]" + b"\0\0\0\0"  # no topics, no mappings


def _settings(text: str) -> Ask:
    return Ask(conn="q", code=318, body=text.encode())


EXAMPLES: Final[dict[str, tuple[Step, ...]]] = {
    "nameless broker": (replace(MASTER, without=frozenset({"clusterName"})),),
    "nameless filter server": (
        _odd(_odd_table().replace(b'{"topicConfig', b'{"filterServerList":[null],"topicConfig', 1)),
    ),
    "refused, but not forgotten": (replace(MASTER, topics=TWO_TOPICS[:1]),),
    "replaced, but still leased": (MASTER, replace(MASTER, conn="n", addr=GROUP.addrs[1])),
    "unregistration without a name": (MASTER, _unregister(MASTER, conn="q", brokerName="")),
    "late unregistration": (MASTER, replace(MASTER, conn="n", counter=2), _unregister(MASTER, conn="m")),
    "unregistration of an absent broker": (
        MASTER,
        replace(SLAVE, addr=MASTER.addr, topics=()),  # the master becomes a slave: its topics are writable still
        _unregister(MASTER, conn="q", brokerAddr=GROUP.addrs[2]),
    ),
    "mapping of a broker that is gone": (
        replace(MASTER, mappings={GROUP.static_topic: MAPPING}),
        Drop(conn="m"),
        replace(MASTER, conn="n"),
    ),
    "mapping without a broker": (
        _odd(_odd_table(topicQueueMappingInfoMap={"odd-0@@": {"topic": "odd-0@@", "totalQueues": 1}})),
    ),
    "several brokers on one connection": (
        MASTER,
        replace(MASTER, cluster=CLUSTERS[1], broker=BROKERS[1].name, addr=BROKERS[1].addrs[0]),
        Drop(conn="m"),
    ),
    "mislabelled body": (_odd(zlib.compress(COMPACT)),),
    "damaged body": (_odd(zlib.compress(COMPACT)[:-4], compressed="true"),),
    "control character in a name": (_odd(_odd_table(), brokerName="odd\n@@"),),
    "setting not taken": (_settings("unknownKey=1"),),
    "neither true nor false": (_settings("supportActingMaster=true"), _settings("supportActingMaster=yes")),
    "setting that needs a restart": (_settings("defaultThreadPoolNums=9"),),
    "port over the wire": (_settings("listenPort=1"),),
    "port among other settings": (_settings("listenPort=1\nsupportActingMaster=true"),),
    "HTTP": (Raw(content=b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", about="HTTP"),),
}
