"""The journal from its end."""

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
    """Records 1 to 40, every second one counted by the minute, in several segments."""
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


def test_the_newest_first_in_pages(files: FaultyFiles) -> None:
    page = find_newest(files, Page(limit=3), Selection())
    assert (numbers(page), page.reached) == ([40, 39, 38], 38)
    page = find_newest(files, Page(limit=3, before=page.reached), Selection())
    assert numbers(page) == [37, 36, 35]
    everything = find_newest(files, Page(limit=1000), Selection())
    assert (numbers(everything), everything.reached) == (list(range(40, 0, -1)), None)


def test_after_a_number_and_at_a_time(files: FaultyFiles) -> None:
    page = find_newest(files, Page(limit=100, after=37), Selection())
    assert (numbers(page), page.reached) == ([40, 39, 38], None)
    assert numbers(find_newest(files, Page(limit=2, at_ms=1020), Selection())) == [20, 19]
    assert numbers(find_newest(files, Page(limit=2, at_ms=5), Selection())) == []


def test_kinds_that_nobody_asked_for_are_passed_over(files: FaultyFiles) -> None:
    page = find_newest(files, Page(limit=3, without=MINUTES), Selection())
    assert (numbers(page), page.reached) == ([40, 38, 36], 36)
    wanted = Selection(kinds=frozenset({"heartbeat_minute"}))
    assert numbers(find_newest(files, Page(limit=2), wanted)) == [39, 37]


def test_a_search_gives_up_and_says_where(files: FaultyFiles) -> None:
    nothing = Selection(topics=frozenset({"none"}))
    page = find_newest(files, Page(limit=3, most_decoded=10), nothing)
    assert (numbers(page), page.reached) == ([], 31)
    page = find_newest(files, Page(limit=3, without=MINUTES, most_lines=10), nothing)
    assert page.reached == 30
    whole = find_newest(files, Page(limit=3), nothing)
    assert (numbers(whole), whole.reached) == ([], None)


def test_a_line_that_is_still_being_written_is_left_out(files: FaultyFiles) -> None:
    newest = [name for name in files.names() if name.endswith(".jsonl")][-1]
    files.put(newest, files.text(newest) + b'{"v":1,"ns":"n","boot":"b","seq":41')
    assert numbers(find_newest(files, Page(limit=1), Selection())) == [40]
