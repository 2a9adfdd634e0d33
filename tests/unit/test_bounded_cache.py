"""A bounded cache keeps its entries until as many others were rejected, then starts over."""

from routebook.bounded_cache import BoundedCache


def add(cache: BoundedCache[int, int], key: int) -> bool:
    if cache.has_room():
        cache[key] = key
        return True
    return False


def test_entries_beyond_the_limit_are_rejected() -> None:
    cache = BoundedCache[int, int](max_entries=3)
    assert [add(cache, key) for key in range(5)] == [True, True, True, False, False]
    assert list(cache) == [0, 1, 2]


def test_it_starts_over_after_as_many_rejections_as_it_has_entries() -> None:
    cache = BoundedCache[int, int](max_entries=3)
    for key in range(6):
        add(cache, key)
    assert list(cache) == [5]


def test_rejections_are_counted_from_zero_after_it_starts_over() -> None:
    cache = BoundedCache[int, int](max_entries=3)
    for key in range(10):
        add(cache, key)
    assert list(cache) == [5, 6, 7]
