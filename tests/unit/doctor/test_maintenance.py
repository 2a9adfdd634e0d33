"""Plans of a restart: what blocks it, and the steps."""

import msgspec

from routebook.doctor.maintenance import Impact, MaintenancePlan, OwnTopics, Surroundings, plan
from routebook.model import QueueData

OWN = OwnTopics(brokers=["a", "b"], clusters=["C"])
AROUND = Surroundings(
    broker="a", cluster="C", at_ms=1, members=1, nameserver="127.0.0.1:9876", unstable={}, is_protecting=False
)


def queues(*brokers: str, **perms: int) -> dict[str, QueueData]:
    found = dict.fromkeys(brokers, 6) | perms
    return {
        name: QueueData(broker_name=name, perm=perm, read_queue_nums=8, topic_sys_flag=0, write_queue_nums=8)
        for name, perm in found.items()
    }


def planned(topics: dict[str, dict[str, QueueData]], **around: object) -> MaintenancePlan:
    surroundings = msgspec.structs.replace(AROUND, **around)
    impact = Impact("a", OWN, surroundings.unstable)
    for topic, found in topics.items():
        impact.add(topic, found)
    return plan(impact, surroundings)


def codes(found: MaintenancePlan, *, blocks: bool = True) -> list[str]:
    return [reason.code for reason in found.reasons if reason.blocks is blocks]


def test_redundant_topics_are_safe() -> None:
    found = planned({"T": queues("a", "b"), "U": queues("b")})
    assert (found.safe, found.topics, found.topics_without_broker) == (True, 1, [])
    assert codes(found, blocks=False) == ["redundant", "not_wiped"]
    assert found.steps[0] == "routebook broker wipe a -n 127.0.0.1:9876"


def test_a_topic_on_one_broker_blocks() -> None:
    found = planned({"T": queues("a", "b"), "U": queues("a")})
    assert (found.safe, found.topics_without_broker, codes(found)) == (False, ["U"], ["topics_without_broker"])
    assert "1 topic (U) is only on a" in found.reasons[0].text


def test_own_topics_do_not_count() -> None:
    names = ["a", "C", "C_REPLY_TOPIC", "TBW102", "%RETRY%g", "rmq_sys_x"]
    found = planned(dict.fromkeys(names, queues("a")))
    assert (found.safe, found.topics, codes(found, blocks=False)) == (True, 0, ["no_topics"])


def test_a_topic_without_another_writable_broker_blocks() -> None:
    found = planned({"T": queues("a", b=4)})
    assert (found.safe, found.topics_without_broker, found.topics_without_writes) == (False, [], ["T"])


def test_a_wiped_broker_needs_no_wipe() -> None:
    found = planned({"T": queues("b", a=4)})
    assert (found.safe, found.is_wiped, found.steps[0]) == (True, True, "restart a")


def test_unstable_brokers_do_not_count_as_others() -> None:
    found = planned({"T": queues("a", "b")}, unstable={"b": "late"})
    assert (found.safe, codes(found)) == (False, ["other_brokers_unstable"])
    assert "b (late)" in found.reasons[0].text


def test_the_state_of_the_nameserver_blocks() -> None:
    found = planned({"T": queues("a", "b")}, is_protecting=True, diverged_peers=("h:1",), unreachable_peers=("h:2",))
    assert codes(found) == ["expiry_protection", "peers_diverged"]
    assert "peers_unreachable" in codes(found, blocks=False)
