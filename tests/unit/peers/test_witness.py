"""Heads of other NameServers' journals."""

from routebook.journal.chain import ChainHead
from routebook.peers.witness import Witness, decode_witness, encode_witness

DAY_MS = 86_400_000


def head(seq: int, *, ns: str = "a", stream: str = "journal") -> ChainHead:
    return ChainHead(ns=ns, stream=stream, seq=seq, head=f"{seq:064x}")


def test_the_newest_head_of_each_day_is_kept() -> None:
    witness = Witness()
    for hour in range(72):
        witness = witness.seen([head(hour + 1), head(hour + 1, stream="audit")], hour * DAY_MS // 24)
    assert [one.seq for one in witness.of({"a"}, "journal")] == [24, 48, 72]
    assert [one.seq for one in witness.of({"a"}, "audit")] == [24, 48, 72]
    assert witness.of({"b"}, "journal") == []


def test_the_number_of_days_and_chains_is_bounded() -> None:
    witness = Witness()
    for day in range(500):
        witness = witness.seen([head(day + 1)], day * DAY_MS)
    assert len(witness.heads) == 400
    witness = witness.seen([head(1, ns=f"n{number}") for number in range(1000)], 501 * DAY_MS)
    assert len({one.chain.ns for one in witness.heads}) == 256


def test_it_is_stored_as_json() -> None:
    witness = Witness().seen([head(7)], 5)
    assert decode_witness(encode_witness(witness)) == witness
