"""Which member of a group a registration continues."""

import pytest

from routebook.history.query.members import Gone, returning

A = Gone(1, 0, "x", 10)
B = Gone(2, 1, "y", 20)


@pytest.mark.parametrize(
    ("gone", "broker_id", "addr", "taken", "expected"),
    [
        ([A, B], 0, "x", set(), A),
        ([A, B], 0, "z", set(), A),  # another address
        ([A, B], 2, "y", set(), B),  # another role
        ([A, B], 0, "y", set(), A),  # the id counts more than the address
        ([A, B], 2, "z", {0}, A),  # its id was taken over
        ([A, B], 2, "z", set(), None),
        ([A, Gone(3, 0, "w", 30)], 0, "z", set(), Gone(3, 0, "w", 30)),  # the last one that left
        ([], 0, "x", {0}, None),
    ],
)
def test_the_best_match(gone: list[Gone], broker_id: int, addr: str, taken: set[int], expected: Gone | None) -> None:
    assert returning(gone, broker_id, addr, taken) == expected
