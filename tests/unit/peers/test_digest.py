"""Digests: the same tables have the same, whatever the order; a difference is found where it is."""

from collections.abc import Iterable

from routebook.events import DownReason
from routebook.peers.digest import BUCKETS, Digest, bucket_of, take_bucket, take_digest
from routebook.peers.digests import Digests
from routebook.routes import RouteTable
from tests.support.asynchronous import asynchronous
from tests.support.route_tables import PLAIN, config, queue, register, registration


def table(brokers: Iterable[str], topics: Iterable[str]) -> RouteTable:
    made, names = RouteTable(), list(topics)
    for number, broker in enumerate(brokers):
        register(made, registration(broker, addr=f"{broker}:10911", topics=names), connection=number)
    return made


def digest(of: RouteTable, *, at_a_time: int = 1000) -> Digest:
    return next(found for found in take_digest(of, at_a_time=at_a_time) if found is not None)


def topics_of(of: RouteTable, bucket: int) -> dict[str, str]:
    return next(found.topics for found in take_bucket(of, bucket, at_a_time=7) if found is not None)


TOPICS = [f"topic-{n}" for n in range(300)]


def test_the_order_in_which_things_came_does_not_matter() -> None:
    assert digest(table(["a", "b"], TOPICS)) == digest(table(["b", "a"], reversed(TOPICS)), at_a_time=1)


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


def test_another_address_is_another_group() -> None:
    ours, theirs = RouteTable(), RouteTable()
    register(ours, registration("a", addr="h:1", topics=[config("T"), config("U")]))
    register(theirs, registration("a", addr="i:1", topics=[config("T"), config("U")]))
    assert digest(ours).groups != digest(theirs).groups
    assert digest(ours).buckets == digest(theirs).buckets


@asynchronous
async def test_a_digest_is_kept_until_the_tables_change() -> None:
    routes = table(["a"], TOPICS)
    digests = Digests(routes)
    first = await digests.digest()
    assert await digests.digest() is first
    routes.wipe_write("a")
    assert await digests.digest() == digest(routes) != first
    found = await digests.bucket(bucket_of("topic-7"))
    assert found is not None
    assert "topic-7" in found.topics
    assert await digests.bucket(BUCKETS) is None
