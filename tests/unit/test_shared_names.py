"""Equal names become one object, and the table of names is bounded."""

import pytest

from routebook import shared_names
from routebook.bounded_cache import BoundedCache
from routebook.shared_names import shared


@pytest.fixture(autouse=True)
def _empty_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_names, "_names", BoundedCache[str, str](max_entries=100))


def test_equal_names_are_one_object() -> None:
    first, second = (b"TopicTest".decode() for _ in range(2))
    assert first is not second
    assert shared(first) is shared(second)


def test_the_table_is_bounded() -> None:
    for number in range(1000):
        assert shared(f"bounded-{number}") == f"bounded-{number}"
    assert len(shared_names._names) <= 100
