"""The digest of a live table is cached."""

from routebook.peers.digest import BUCKETS, bucket_of
from routebook.peers.digest_cache import DigestCache
from routebook.routes import RouteTable
from tests.support.asynchronous import asynchronous
from tests.support.route_tables import register, registration


@asynchronous
async def test_a_digest_is_cached_until_the_tables_change() -> None:
    routes = RouteTable()
    register(routes, registration("a", addr="a:10911", topics=["topic-7", "topic-8"]))
    digests = DigestCache(routes)
    first = await digests.digest()
    assert await digests.digest() is first
    routes.wipe_write("a")
    assert await digests.digest() != first
    found = await digests.buckets({bucket_of("topic-7")})
    assert found is not None
    assert "topic-7" in found.topics
    assert await digests.buckets({0, BUCKETS}) is None
