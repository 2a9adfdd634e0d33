"""The hash chain: links, and what they cover."""

from hashlib import sha256

import msgspec
import pytest

from routebook.events import KvChanged, ServerStopped
from routebook.journal.chain import START, Chain, chain_after, link_of, without_link
from routebook.journal.record import Record, RecordEncoder, decode_record
from tests.support.journal_events import EVERY_KIND, linked, pending


def test_a_link_is_the_hash_of_all_lines_since_the_previous_link() -> None:
    chain = Chain()
    assert (chain.head, chain.is_started) == (START, False)
    first = chain.link(pending(1).line)
    chain.add(pending(2).line)
    expected = sha256(first + pending(2).line).hexdigest()
    assert chain.head == expected
    third = chain.link(pending(3).line)
    assert link_of(third.rstrip(b"\n")) == expected
    assert chain.head == sha256(third).hexdigest()
    assert chain_after(first + pending(2).line + third).head == chain.head
    assert chain_after(first + pending(2).line).head == expected


def test_a_copy_continues_on_its_own() -> None:
    chain = Chain(b"x\n")
    other = chain.copy()
    other.add(b"y\n")
    assert (chain.head, other.head) == (Chain(b"x\n").head, Chain(b"x\ny\n").head)


def test_a_torn_line_at_the_end_does_not_count() -> None:
    text = linked(pending(1), pending(2))
    assert chain_after(text + b'{"v":1,"chain":"start"}').head == chain_after(text).head
    assert not chain_after(pending(1).line).is_started


@pytest.mark.parametrize("event", EVERY_KIND)
def test_readers_ignore_links(event: object) -> None:
    line = RecordEncoder(ns="n", boot="b").line(event, seq=1, at_ms=2)  # type: ignore[arg-type]
    with_link = Chain(b"x").link(line)
    assert decode_record(with_link) == decode_record(line)
    assert without_link(with_link.rstrip(b"\n")) == line.rstrip(b"\n") == without_link(line.rstrip(b"\n"))


def test_an_event_of_an_unknown_kind_does_not_contain_the_link() -> None:
    line = b'{"v":1,"ns":"n","boot":"b","seq":1,"at":2,"kind":"new","x":1}\n'
    record: Record = decode_record(Chain().link(line))
    assert record == decode_record(line)


def test_text_in_an_event_is_not_a_link() -> None:
    fake = f'","chain":"{"0" * 64}'
    line = RecordEncoder(ns="n", boot="b").line(KvChanged(namespace="n", key="k", after=fake), seq=1, at_ms=2)
    assert link_of(line.rstrip(b"\n")) is None
    assert msgspec.json.decode(line)["after"] == fake
    assert link_of(RecordEncoder(ns="n", boot="b").line(ServerStopped(reason="start"), seq=1, at_ms=2)[:-1]) is None
