"""Which topics an identity may announce."""

import pytest

from routebook.access.topic_ownership import may_announce, owns

PATTERNS = ("billing", "orders-*")


@pytest.mark.parametrize("topic", ["orders-", "orders-eu", "orders-a\nb", "billing"])
def test_patterns_match_whole_names(topic: str) -> None:
    assert owns(PATTERNS, topic)


@pytest.mark.parametrize("topic", ["orders", "my-orders-eu", "billing2", "Orders-eu", ""])
def test_other_names_do_not_match(topic: str) -> None:
    assert not owns(PATTERNS, topic)


def test_only_the_star_is_special() -> None:
    assert owns(("a.b*",), "a.bc")
    assert not owns(("a.b*",), "axbc")
    assert owns(("*",), "anything")
    assert owns(("%RETRY%*-orders",), "%RETRY%x-orders")


@pytest.mark.parametrize(
    "topic",
    [
        *("orders-eu", "c", "b", "c_REPLY_TOPIC", "SELF_TEST_TOPIC", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest"),
        *("OFFSET_MOVED_EVENT", "rmq_sys_wheel_timer", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_REVIVE_LOG_c"),
        *("%RETRY%any-group", "%DLQ%any-group"),
    ],
)
def test_a_broker_may_announce_its_topics_and_those_of_the_system(topic: str) -> None:
    assert may_announce(PATTERNS, topic, cluster="c", broker="b")


@pytest.mark.parametrize("topic", ["payments", "TBW102", "other-broker", "other_REPLY_TOPIC", "order"])
def test_a_broker_may_not_announce_other_topics(topic: str) -> None:
    assert not may_announce(PATTERNS, topic, cluster="c", broker="b")


def test_groups_are_limited_only_if_a_pattern_names_them() -> None:
    patterns = (*PATTERNS, "%RETRY%orders-*", "TBW102")
    assert may_announce(patterns, "%RETRY%orders-eu", cluster="c", broker="b")
    assert not may_announce(patterns, "%RETRY%payments", cluster="c", broker="b")
    assert not may_announce(patterns, "%DLQ%orders-eu", cluster="c", broker="b")
    assert may_announce(patterns, "TBW102", cluster="c", broker="b")
