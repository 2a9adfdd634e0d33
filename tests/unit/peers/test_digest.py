"""Digests: equal for equal tables, independent of order; a difference is located by its bucket."""

from collections.abc import Iterable

from routebook.events import DownReason
from routebook.peers.digest import BUCKETS, Digest, bucket_of, take_buckets, take_digest
from routebook.routes import RouteTable
from tests.support.route_tables import PLAIN, config, queue, register, registration


def table(brokers: Iterable[str], topics: Iterable[str]) -> RouteTable:
    made, names = RouteTable(), list(topics)
    for number, broker in enumerate(brokers):
        register(made, registration(broker, addr=f"{broker}:10911", topics=names), connection=number)
    return made


def digest(of: RouteTable, *, slice_size: int = 1000) -> Digest:
    return next(found for found in take_digest(of, slice_size=slice_size) if found is not None)


def topics_of(of: RouteTable, bucket: int) -> dict[str, str]:
    return next(found.topics for found in take_buckets(of, {bucket}, slice_size=7) if found is not None)


TOPICS = [f"topic-{n}" for n in range(300)]


def test_the_digest_is_independent_of_order() -> None:
    assert digest(table(["a", "b"], TOPICS)) == digest(table(["b", "a"], reversed(TOPICS)), slice_size=1)


def test_a_topic_that_differs_is_found_in_its_bucket() -> None:
    ours, theirs = table(["a", "b"], TOPICS), table(["a", "b"], TOPICS)
    theirs.register_topic("topic-7", [queue("b", read=9)])
    one, other = digest(ours), digest(theirs)
    differing = [n for n in range(BUCKETS) if one.buckets[n] != other.buckets[n]]
    assert differing == [bucket_of("topic-7")]
    here, there = topics_of(ours, differing[0]), topics_of(theirs, differing[0])
    assert [name for name in here if here[name] != there[name]] == ["topic-7"]
    assert one.groups == other.groups


def test_permissions_and_missing_brokers_differ() -> None:
    ours, theirs = table(["a", "b"], TOPICS), table(["a", "b"], TOPICS)
    theirs.wipe_write("a")
    assert digest(ours).buckets != digest(theirs).buckets
    theirs.restore_write("a")
    assert digest(ours) == digest(theirs)
    theirs.connection_lost(1, reason=DownReason.CLOSED, policy=PLAIN)
    assert digest(ours).groups.keys() - digest(theirs).groups.keys() == {"b"}


def test_another_address_changes_the_group_hash_only() -> None:
    ours, theirs = RouteTable(), RouteTable()
    register(ours, registration("a", addr="h:1", topics=[config("T"), config("U")]))
    register(theirs, registration("a", addr="i:1", topics=[config("T"), config("U")]))
    assert digest(ours).groups != digest(theirs).groups
    assert digest(ours).buckets == digest(theirs).buckets
