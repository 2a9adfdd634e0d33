"""Stamps: what they cover, and that each is accepted once, in time."""

import pytest

from routebook.access import stamp as module
from routebook.access.stamp import MAX_AGE_MS, STAMP, SeenStamps, Stamp, make_stamp, read_stamp, stamped_content

NOW = 1_700_000_000_000
FIELDS: dict[str, str | None] = {"topic": "T", "AccessKey": "ops", "empty": None}


def content(**changes: object) -> bytes:
    given = {"ext": FIELDS, "body": b"body", "code": 100, "time_ms": NOW, "nonce": "n", **changes}
    return stamped_content(given.pop("ext"), given.pop("body"), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"code": 102},
        {"time_ms": NOW + 1},
        {"nonce": "m"},
        {"body": b"other"},
        {"ext": {**FIELDS, "more": ""}},
        {"ext": {"Topic": "T", "AccessKey": "ops", "empty": None}},
        {"ext": {"topic": "Tops", "AccessKey": "", "empty": None}},  # the same values, divided differently
    ],
)
def test_every_part_of_a_request_is_covered(changes: dict[str, object]) -> None:
    assert content(**changes) != content()


def test_the_signature_and_the_stamp_itself_are_not_covered() -> None:
    assert content(ext={**FIELDS, STAMP: "x", "Signature": "y"}) == content()


def test_a_stamp_can_be_read_again() -> None:
    text = make_stamp(FIELDS, None, code=100, secret="s", now_ms=NOW, nonce="n-1_x")
    found = read_stamp(text)
    assert found is not None
    assert (found.time_ms, found.nonce) == (NOW, "n-1_x")


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "1..n.m", "2.1.n.m", "1.x.n.m", "1.1..m", "1.²3.n.m", "1." + "9" * 16]
)
def test_other_texts_are_no_stamps(text: str) -> None:
    assert read_stamp(text) is None


def test_a_stamp_is_accepted_once_and_in_time() -> None:
    seen = SeenStamps(NOW - 10 * MAX_AGE_MS)
    assert seen.problem("ops", Stamp(NOW, "n", ""), NOW) is None
    assert "received before" in (seen.problem("ops", Stamp(NOW, "n", ""), NOW) or "")
    assert seen.problem("other", Stamp(NOW, "n", ""), NOW) is None
    assert seen.problem("ops", Stamp(NOW, "m", ""), NOW) is None
    for time_ms in (NOW - MAX_AGE_MS - 1, NOW + MAX_AGE_MS + 1):
        assert "check the clocks" in (seen.problem("ops", Stamp(time_ms, "o", ""), NOW) or "")


@pytest.mark.parametrize("ahead_ms", [-MAX_AGE_MS, 0, MAX_AGE_MS])
def test_a_stamp_is_remembered_as_long_as_it_is_in_time(ahead_ms: int) -> None:
    seen = SeenStamps(NOW - 10 * MAX_AGE_MS)
    stamp = Stamp(NOW + ahead_ms, "n", "")
    assert seen.problem("ops", stamp, NOW) is None
    for later_ms in range(0, 5 * MAX_AGE_MS, 1000):
        assert seen.problem("ops", Stamp(NOW + later_ms, f"other-{later_ms}", ""), NOW + later_ms) is None
        assert seen.problem("ops", stamp, NOW + later_ms) is not None


def test_a_stamp_from_before_the_start_is_rejected() -> None:
    assert "before this server started" in (SeenStamps(NOW).problem("ops", Stamp(NOW - 1, "n", ""), NOW) or "")


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_NONCES", 3)
    seen = SeenStamps(0)
    problems = [seen.problem("ops", Stamp(NOW, str(number), ""), NOW) for number in range(4)]
    assert problems == [None, None, None, "too many signed requests in two minutes"]
    later = NOW + 2 * MAX_AGE_MS + 1
    assert seen.problem("ops", Stamp(later, "4", ""), later) is None
