"""Answers are encoded once per revision and argument, within a limit on memory."""

from routebook.handlers import list_cache
from routebook.handlers.list_cache import ListCache


def test_an_answer_is_encoded_once_per_revision() -> None:
    cache, encoded = ListCache(), list[int]()

    def get(code: int, revision: int) -> bytes:
        def encode() -> bytes:
            encoded.append(code)
            return b"x"

        return cache.get((code, ""), revision, encode)

    assert [get(206, 1), get(206, 1), get(311, 1), get(206, 1)] == [b"x"] * 4
    assert encoded == [206, 311]
    get(206, 2)
    get(311, 2)
    assert encoded == [206, 311, 206, 311]


def test_a_large_answer_is_not_kept() -> None:
    cache, encoded = ListCache(), list[int]()

    def encode() -> bytes:
        encoded.append(1)
        return bytes(list_cache._MAX_BYTES + 1)

    for _ in range(2):
        cache.get((206, ""), 1, encode)
    assert len(encoded) == 2
