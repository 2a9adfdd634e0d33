"""Encoded routes: made once per change, kept in bounded memory."""

from routebook.handlers.route_cache import RouteCache
from tests.support.requests import Asker


def put(cache: RouteCache, topic: str, body: bytes, *, stamp: int = 1, base: int = 0) -> None:
    cache.put(topic, body, standard=True, stamp=stamp, base=base)


def has(cache: RouteCache, topic: str) -> bool:
    return cache.get(topic, standard=True) is not None


def kept(cache: RouteCache, topic: str, *, standard: bool = True) -> tuple[bytes, int] | None:
    """The body that is at hand, and when it was last known to be fresh."""
    entry = cache.young.get((topic, standard))
    return None if entry is None else (entry.body, entry.stamp)


def test_what_was_put_is_at_hand() -> None:
    cache = RouteCache(max_bytes=10_000)
    put(cache, "t", b"body", stamp=5)
    assert kept(cache, "t") == (b"body", 5)
    assert kept(cache, "t", standard=False) is None


def test_what_has_grown_old_is_young_again_when_it_is_asked_for() -> None:
    cache = RouteCache(max_bytes=10_000)
    put(cache, "t", b"x" * 700, stamp=5, base=2)
    for n in range(4):
        put(cache, f"t-{n}", b"x" * 700)
    assert kept(cache, "t") is None
    entry = cache.get("t", standard=True)
    assert entry is not None
    assert (entry.body, entry.stamp, entry.base) == (b"x" * 700, 5, 2)
    assert kept(cache, "t") == (b"x" * 700, 5)
    assert cache.get("t", standard=False) is None


def test_memory_is_bounded_and_what_is_asked_for_stays() -> None:
    cache = RouteCache(max_bytes=20_000)
    put(cache, "hot", b"x" * 700)
    for n in range(100):
        put(cache, f"cold-{n}", b"x" * 700)
        assert has(cache, "hot")
        assert cache.bytes_held <= 20_000


def test_all_that_fits_stays_however_it_is_asked_for() -> None:
    cache = RouteCache(max_bytes=20_000)
    topics = [f"t-{n}" for n in range(18)]  # a thousand bytes each, and a few more
    for _ in range(5):
        for topic in topics:
            if not has(cache, topic):
                put(cache, topic, b"x" * 700)
    assert cache.encoded == len(topics)


def test_what_is_not_asked_for_goes_first() -> None:
    cache = RouteCache(max_bytes=10_000)
    for n in range(9):
        put(cache, f"t-{n}", b"x" * 700)
    for n in range(9, 12):
        put(cache, f"t-{n}", b"x" * 700)
        assert has(cache, "t-8")
    left = [n for n in range(12) if has(cache, f"t-{n}")]
    assert left == list(range(3, 12))
    assert cache.bytes_held <= 10_000


def test_a_body_beyond_the_budget_is_not_kept() -> None:
    cache = RouteCache(max_bytes=1000)
    put(cache, "t", b"x" * 1000)
    assert kept(cache, "t") is None
    assert cache.bytes_held == 0


def test_a_route_is_encoded_once_per_change() -> None:
    ns = Asker()
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


def test_an_unchanged_registration_leaves_the_cache_alone() -> None:
    ns = Asker()
    ns.register("a", "b")
    first = ns.route("a").body
    ns.now_ms += 30_000
    ns.register("a", "b")
    assert ns.route("a").body is first


def test_order_configuration_and_settings_reach_cached_routes() -> None:
    ns = Asker()
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
