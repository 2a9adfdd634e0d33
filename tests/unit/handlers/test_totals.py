"""Limits on the tables: growth beyond them is rejected, in all and per identity."""

import json

import pytest

from routebook.access.identity import Identity
from routebook.handlers import Caller, dispatch
from routebook.handlers.totals import usage
from routebook.wire.command import Command, Reply
from tests.support.core_client import CoreClient, register_body

OPS = Identity(name="ops", access=frozenset())
OTHER = Identity(name="other", access=frozenset())


def limited(**limits: int) -> CoreClient:
    return CoreClient(**{f"routebook.limits.{name}": str(value) for name, value in limits.items()})


def ask(ns: CoreClient, who: Identity, code: int, ext: dict[str, str | None], body: bytes | None = None) -> Reply:
    caller = Caller(1, "127.0.0.1:1", who)
    reply = dispatch(ns.nameserver, Command(code, 1, version=513, ext=ext, body=body), caller, ns.now_ms).reply
    assert reply is not None
    return reply


def register(ns: CoreClient, who: Identity, broker: str, *topics: str, counter: int = 1) -> Reply:
    ext: dict[str, str | None] = {
        "clusterName": "c",
        "brokerName": broker,
        "brokerAddr": f"{broker}:10911",
        "brokerId": "0",
    }
    return ask(ns, who, 103, ext, register_body(*topics, counter=counter))


def test_brokers() -> None:
    ns = limited(brokers=1)
    assert ns.register("A", "B").code == 0
    refused = ns.register("A", "B", broker="broker-b", addr="10.0.0.2:10911")
    assert refused.code == 1
    assert refused.remark == "2 brokers would exceed routebook.limits.brokers=1: nothing was changed"
    assert ns.nameserver.exceeded == {"brokers": 1}
    assert ns.register("A", "C", counter=2).code == 0


def test_topics() -> None:
    ns = limited(topics=3)
    assert ns.register("A", "B").code == 0
    assert ns.register("A", "B", "C", "D", counter=2).code == 1
    assert ns.register("A", "B", "C", counter=2).code == 0
    assert ns.register("A", "B", "C", broker="broker-b", addr="10.0.0.2:10911").code == 0
    body = json.dumps({"queueDatas": [{"brokerName": "broker-a", "perm": 6}]}).encode()
    assert ns.ask(217, {"topic": "D"}, body).code == 1
    assert ns.ask(217, {"topic": "C"}, body).code == 0
    assert ns.nameserver.exceeded == {"topics": 2}
    assert usage(ns.nameserver)["topics"] == (3, 3)


def test_queues() -> None:
    ns = limited(queues=5)
    assert ns.register("A", "B", "C").code == 0
    assert ns.register("A", "B", "C", broker="broker-b", addr="10.0.0.2:10911").code == 1
    assert ns.register("A", "B", broker="broker-b", addr="10.0.0.2:10911").code == 0
    assert usage(ns.nameserver)["queues"] == (5, 5)


def test_kv_bytes() -> None:
    ns = limited(kvBytes=1000)
    entry = {"namespace": "ns", "key": "k", "value": "v" * 500}
    assert ns.ask(100, entry).code == 0
    assert ns.ask(100, {**entry, "key": "l"}).code == 1
    assert ns.ask(100, {**entry, "value": "w" * 800}).code == 0
    assert ns.ask(100, {**entry, "value": "w" * 900}).code == 1
    assert ns.ask(102, entry).code == 0
    assert ns.ask(100, {**entry, "key": "l"}).code == 0
    assert ns.nameserver.exceeded == {"kv_bytes": 2}


def test_mappings() -> None:
    ns = limited(mappings=1)
    whole = json.loads(register_body("A", "B"))
    mapping = {"bname": "broker-a", "currIdMap": {}, "topic": "A", "totalQueues": 1}
    whole["topicConfigSerializeWrapper"]["topicQueueMappingInfoMap"] = {"A": mapping, "B": {**mapping, "topic": "B"}}
    ext = {"clusterName": "c", "brokerName": "broker-a", "brokerAddr": "a:10911", "brokerId": "0"}
    assert ns.ask(103, ext, json.dumps(whole).encode()).code == 1
    assert ns.nameserver.exceeded == {"mappings": 1}
    del whole["topicConfigSerializeWrapper"]["topicQueueMappingInfoMap"]["B"]
    assert ns.ask(103, ext, json.dumps(whole).encode()).code == 0


@pytest.mark.parametrize(
    ("limits", "exceeded"),
    [({"brokersPerIdentity": 1}, "brokers_per_identity"), ({"queuesPerIdentity": 3}, "queues_per_identity")],
)
def test_one_identity_does_not_use_up_what_others_need(limits: dict[str, int], exceeded: str) -> None:
    ns = limited(**limits)
    assert register(ns, OPS, "a", "A", "B").code == 0
    refused = register(ns, OPS, "b", "A", "B")
    assert refused.code == 1
    assert " of ops would exceed routebook.limits." in (refused.remark or "")
    assert ns.nameserver.exceeded == {exceeded: 1}
    assert register(ns, OTHER, "b", "A", "B").code == 0
    ext: dict[str, str | None] = {"clusterName": "c", "brokerName": "a", "brokerAddr": "a:10911", "brokerId": "0"}
    assert ask(ns, OPS, 104, ext).code == 0
    assert register(ns, OPS, "c", "A", "B").code == 0


def test_kv_entries_count_for_the_identity_that_put_them() -> None:
    ns = limited(kvBytesPerIdentity=1000)
    entry: dict[str, str | None] = {"namespace": "ns", "key": "k", "value": "v" * 500}
    assert ask(ns, OPS, 100, entry).code == 0
    assert ask(ns, OPS, 100, {**entry, "key": "l"}).code == 1
    assert ask(ns, OTHER, 100, {**entry, "value": "w" * 501}).code == 0
    assert ask(ns, OPS, 100, {**entry, "key": "l"}).code == 0
    assert ask(ns, OPS, 102, {**entry, "key": "l"}).code == 0
    assert ask(ns, OPS, 100, {**entry, "key": "m"}).code == 0
