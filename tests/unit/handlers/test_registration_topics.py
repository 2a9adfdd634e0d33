"""Topic ownership in registrations: topics that the identity does not own are left out."""

import json

from routebook.access.classes import Access, expanded
from routebook.access.identity import Identity
from routebook.events import RequestDenied
from routebook.handlers import Caller, dispatch
from routebook.model import BrokerKey
from routebook.wire.command import Command
from tests.support.core_client import CoreClient, register_body

BROKER = {"clusterName": "c", "brokerName": "b", "brokerAddr": "h:1", "brokerId": "0", "haServerAddr": "h:2"}


def identity(*topics: str) -> Identity:
    return Identity(name="x", access=expanded([Access.BROKER_CONTROL]), topics=topics or None)


OWN = ("b", "c")  # as every broker announces


def register(ns: CoreClient, who: Identity, *topics: str, counter: int = 1, body: bytes | None = None) -> list[str]:
    """Register, and return the reasons of denials."""
    command = Command(
        code=103, opaque=1, version=509, ext=dict(BROKER), body=body or register_body(*OWN, *topics, counter=counter)
    )
    outcome = dispatch(ns.nameserver, command, Caller(1, "h:9", who), ns.now_ms)
    assert outcome.reply is not None
    assert outcome.reply.code == 0, outcome.reply
    return [event.why for event in outcome.events if isinstance(event, RequestDenied)]


def topics_of(ns: CoreClient) -> set[str]:
    return set(ns.nameserver.routes.topics()) - {*OWN}


def test_a_broker_announces_only_what_it_owns() -> None:
    ns = CoreClient()
    why = register(ns, identity("orders-*"), "orders-eu", "payments", "SELF_TEST_TOPIC", "%RETRY%g", "TBW102")
    assert topics_of(ns) == {"orders-eu", "SELF_TEST_TOPIC", "%RETRY%g"}
    assert why == ["x may not announce topic TBW102, payments: left out"]


def test_a_repetition_renews_the_lease_without_another_denial() -> None:
    ns = CoreClient()
    who = identity("orders-*")
    assert register(ns, who, "orders-eu", "payments")
    ns.now_ms += 1000
    assert register(ns, who, "orders-eu", "payments") == []
    assert ns.nameserver.routes.lease_table[BrokerKey("c", "h:1")].last_update_ms == ns.now_ms
    assert topics_of(ns) == {"orders-eu"}


def test_a_change_of_the_table_and_of_the_rights_is_noticed() -> None:
    ns = CoreClient()
    register(ns, identity(), "orders-eu", "payments")
    assert topics_of(ns) == {"orders-eu", "payments"}
    ns = CoreClient()
    register(ns, identity("orders-*"), "orders-eu", "payments")
    assert register(ns, identity("orders-*", "payments"), "orders-eu", "payments") == []
    assert topics_of(ns) == {"orders-eu", "payments"}
    assert register(ns, identity("orders-*"), "orders-eu", "orders-us", "other", counter=2)
    assert topics_of(ns) == {"orders-eu", "payments", "orders-us"}


def test_the_table_of_a_similar_broker_does_not_bypass_the_check() -> None:
    """Only topics that differ from another broker's table are decoded; all of them are checked."""
    ns = CoreClient()
    many = [f"payments-{number}" for number in range(600)]
    ns.register("orders-eu", *many, broker="other", addr="o:1", clusterName="c")
    why = register(ns, identity("orders-*"), "orders-eu", *many)
    assert why == ["x may not announce topic payments-0, payments-1, payments-10 and 597 more: left out"]
    queues = ns.nameserver.routes.queues("payments-5")
    assert queues is not None
    assert set(queues) == {"other"}
    assert "b" in (ns.nameserver.routes.queues("orders-eu") or {})


def test_static_mappings_of_other_topics_are_left_out() -> None:
    ns = CoreClient()
    body = json.loads(register_body(*OWN, "orders-eu", "payments"))
    wrapper = body["topicConfigSerializeWrapper"]
    info = {"topic": "payments", "bname": "b", "epoch": 1, "totalQueues": 1, "currIdMap": {"0": 0}}
    wrapper["topicQueueMappingInfoMap"] = {"payments": info, "orders-eu": {**info, "topic": "orders-eu"}}
    register(ns, identity("orders-*"), body=json.dumps(body).encode())
    assert set(ns.nameserver.routes.mapping_table) == {"orders-eu"}
