"""The cache of encoded routes encodes each route once per change and bounds its memory."""

from routebook.handlers.route_cache import RouteCache
from tests.support.core_client import CoreClient


def put(cache: RouteCache, topic: str, body: bytes, *, revision: int = 1, base: int = 0) -> None:
    cache.put((topic, True), body, revision=revision, base_revision=base)


def has(cache: RouteCache, topic: str) -> bool:
    return cache.get((topic, True)) is not None


def test_a_body_is_fresh_until_the_revision_changes() -> None:
    cache = RouteCache(max_bytes=10_000)
    put(cache, "t", b"body", revision=5)
    assert cache.fresh(("t", True), 5) == b"body"
    assert cache.fresh(("t", True), 6) is None
    assert cache.fresh(("t", False), 5) is None


def test_a_hit_moves_nothing_and_a_used_entry_is_evicted_later() -> None:
    cache = RouteCache(max_bytes=10_000)
    for n in range(9):
        put(cache, f"t-{n}", b"x" * 700, revision=5, base=2)
    before = list(cache._entries)
    assert cache.fresh(("t-0", True), 5) == b"x" * 700
    assert list(cache._entries) == before
    put(cache, "t-9", b"x" * 700)
    entry = cache.get(("t-0", True))
    assert entry is not None
    assert (entry.body, entry.revision, entry.base_revision) == (b"x" * 700, 5, 2)
    assert not has(cache, "t-1")


def test_an_entry_that_leaves_is_emptied() -> None:
    cache = RouteCache(max_bytes=10_000)
    put(cache, "t", b"x" * 700)
    replaced = cache.get(("t", True))
    put(cache, "t", b"y" * 700)
    assert replaced is not None
    assert (replaced.body, replaced.revision) == (b"", -1)
    assert cache.bytes_held == 1001


def test_one_insertion_visits_a_bounded_number_of_used_entries() -> None:
    cache = RouteCache(max_bytes=500_000)
    for n in range(600):
        put(cache, f"t-{n:03d}", b"x" * 500)
        has(cache, f"t-{n:03d}")
    put(cache, "new", b"x" * 500)
    assert cache.bytes_held <= 500_000
    assert sum(not entry.used for entry in cache._entries.values()) <= 66


def test_memory_is_bounded_and_used_entries_stay() -> None:
    cache = RouteCache(max_bytes=20_000)
    put(cache, "hot", b"x" * 700)
    for n in range(100):
        put(cache, f"cold-{n}", b"x" * 700)
        assert has(cache, "hot")
        assert cache.bytes_held <= 20_000


def test_entries_that_fit_stay_in_any_order_of_use() -> None:
    cache = RouteCache(max_bytes=20_000)
    topics = [f"t-{n}" for n in range(18)]  # a thousand bytes each, and a few more
    for _ in range(5):
        for topic in topics:
            if not has(cache, topic):
                put(cache, topic, b"x" * 700)
    assert cache.encoded == len(topics)


def test_unused_entries_are_evicted_first() -> None:
    cache = RouteCache(max_bytes=10_000)
    for n in range(9):
        put(cache, f"t-{n}", b"x" * 700)
    for n in range(9, 12):
        put(cache, f"t-{n}", b"x" * 700)
        assert has(cache, "t-8")
    left = [n for n in range(12) if has(cache, f"t-{n}")]
    assert left == list(range(3, 12))
    assert cache.bytes_held <= 10_000


def test_a_body_larger_than_half_the_budget_is_not_cached() -> None:
    cache = RouteCache(max_bytes=1000)
    put(cache, "t", b"x" * 1000)
    assert not has(cache, "t")
    assert cache.bytes_held == 0


def test_a_route_is_encoded_once_per_change() -> None:
    ns = CoreClient()
    ns.register("a", "b")
    cache = ns.nameserver.cache
    first = ns.route("a").body
    assert ns.route("a").body is first
    assert cache.encoded == 1
    ns.register("c", "d", broker="broker-b", addr="127.0.0.2:10911", connection=2)  # not this route
    assert ns.route("a").body is first
    assert cache.encoded == 1
    ns.ask(205, {"brokerName": "broker-a"})
    changed = ns.route("a").body
    assert changed is not None
    assert b'"perm":4' in changed
    assert cache.encoded == 2


def test_an_unchanged_registration_keeps_cached_routes() -> None:
    ns = CoreClient()
    ns.register("a", "b")
    first = ns.route("a").body
    ns.now_ms += 30_000
    ns.register("a", "b")
    assert ns.route("a").body is first


def test_changes_of_order_configuration_and_settings_reach_cached_routes() -> None:
    ns = CoreClient()
    ns.register("a", "b")
    plain = ns.route("a").body
    ns.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "a", "value": "broker-a:4"})
    assert ns.route("a").body == plain
    ns.ask(318, None, b"orderMessageEnable=true")
    ordered = ns.route("a").body
    assert ordered is not None
    assert b'"orderTopicConf":"broker-a:4"' in ordered
    ns.ask(102, {"namespace": "ORDER_TOPIC_CONFIG", "key": "a"})
    assert ns.route("a").body == plain
