"""Searching the journal from its end."""

import pytest

from routebook.events import Event, HeartbeatMinute, KvChanged
from routebook.journal.read.backwards import Found, Page, find_newest
from routebook.journal.read.select import Selection
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from tests.support.faulty_files import FaultyFiles

MINUTES = frozenset({"heartbeat_minute"})


@pytest.fixture
def files() -> FaultyFiles:
    """Records 1 to 40 in several segments; every second one is a minute rollup."""
    files = FaultyFiles()
    options = JournalOptions(commit_ms=0, segment_bytes=1000)
    writer = open_journal(files, ns="n", boot="b", options=options, now_ms=lambda: 1).writer
    writer.start()
    for number in range(1, 41):
        event: Event = KvChanged(namespace="N", key=f"k{number}", after="v")
        if number % 2:
            event = HeartbeatMinute(cluster="c", broker="a", addr="x", minute_ms=number, count=1)
        writer.durable(writer.append(event, 1000 + number)).result(10)
    writer.stop()
    return files


def numbers(found: Found) -> list[int]:
    return [record.seq for record in found.records]


def test_pages_come_newest_first(files: FaultyFiles) -> None:
    page = find_newest(files, Page(limit=3), Selection())
    assert (numbers(page), page.reached) == ([40, 39, 38], 38)
    page = find_newest(files, Page(limit=3, before=page.reached), Selection())
    assert numbers(page) == [37, 36, 35]
    everything = find_newest(files, Page(limit=1000), Selection())
    assert (numbers(everything), everything.reached) == (list(range(40, 0, -1)), None)


def test_bounds_by_number_and_time(files: FaultyFiles) -> None:
    page = find_newest(files, Page(limit=100, after=37), Selection())
    assert (numbers(page), page.reached) == ([40, 39, 38], None)
    assert numbers(find_newest(files, Page(limit=2, at_ms=1020), Selection())) == [20, 19]
    assert numbers(find_newest(files, Page(limit=2, at_ms=5), Selection())) == []


def test_excluded_kinds_are_skipped(files: FaultyFiles) -> None:
    page = find_newest(files, Page(limit=3, excluded_kinds=MINUTES), Selection())
    assert (numbers(page), page.reached) == ([40, 38, 36], 36)
    wanted = Selection(kinds=frozenset({"heartbeat_minute"}))
    assert numbers(find_newest(files, Page(limit=2), wanted)) == [39, 37]


def test_a_search_stops_at_its_limit_and_returns_the_position(files: FaultyFiles) -> None:
    nothing = Selection(topics=frozenset({"none"}))
    page = find_newest(files, Page(limit=3, max_decoded=10), nothing)
    assert (numbers(page), page.reached) == ([], 31)
    page = find_newest(files, Page(limit=3, excluded_kinds=MINUTES, max_lines=10), nothing)
    assert page.reached == 30
    whole = find_newest(files, Page(limit=3), nothing)
    assert (numbers(whole), whole.reached) == ([], None)


def test_an_incomplete_last_line_is_skipped(files: FaultyFiles) -> None:
    newest = [name for name in files.names() if name.endswith(".jsonl")][-1]
    files.put(newest, files.text(newest) + b'{"v":1,"ns":"n","boot":"b","seq":41')
    assert numbers(find_newest(files, Page(limit=1), Selection())) == [40]
