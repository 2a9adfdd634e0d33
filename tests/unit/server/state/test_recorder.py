"""Events are journalled, logged and published, in this order."""

import asyncio
import logging
from pathlib import Path

import pytest

from routebook.events import BrokerDown, BrokerUp, DownReason, KvChanged, RequestDenied, ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.record import Record
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.writer import Writer
from routebook.server.observe.event_log import EventLog
from routebook.server.state import recorder as recorder_module
from routebook.server.state.recorder import Recorder
from tests.support.faulty_files import FaultyFiles
from tests.support.journals import records

UP = BrokerUp(cluster="C", broker="a", broker_id=0, addr="x:1", timeout_ms=1, acting_master=False)
DOWN = BrokerDown(cluster="C", broker="a", broker_id=0, addr="x:1", reason=DownReason.CLOSED)
KV = KvChanged(namespace="N", key="k", after="v")


def event_log() -> EventLog:
    return EventLog(lambda: 0.0)


def journal_in(folder: Path) -> Writer:
    return open_journal(
        FolderFiles(folder / "journal"), ns="n", boot="b", options=JournalOptions(), now_ms=lambda: 5
    ).writer


def test_each_event_is_journalled_logged_and_published(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal, feed = journal_in(tmp_path), list[Record]()
    recorder = Recorder(event_log=event_log(), ns="n", boot="b", journal=journal, publish=feed.append)
    with caplog.at_level(logging.INFO, logger="routebook"):
        assert recorder.record([UP, DOWN], at_ms=9, peer="10.0.0.9:1", code=104) == 2
        assert recorder.record([], at_ms=9) == 0
    assert recorder.last_seq == 2
    journal.commit()
    assert records(tmp_path) == list(feed)
    assert [record.message for record in caplog.records] == ["broker up", "broker down"]
    assert [record.seq for record in feed] == [1, 2]
    assert (feed[0].ns, feed[0].boot, feed[0].at, feed[0].event) == ("n", "b", 9, UP)


def test_peer_and_code_are_recorded_with_requested_changes() -> None:
    feed: list[Record] = []
    recorder = Recorder(event_log=event_log(), ns="n", boot="b", publish=feed.append)
    recorder.record([KV, UP], at_ms=1, peer="10.0.0.9:1", code=100)
    recorder.record([DOWN], at_ms=1, peer="10.0.0.9:1")
    recorder.record([DOWN], at_ms=1)
    recorder.record([RequestDenied(code=318, why="no")], at_ms=1, peer="10.0.0.9:1", code=318)
    kv, up, closed, expired, denied = (record.event for record in feed)
    assert isinstance(kv, KvChanged)
    assert (kv.peer, kv.code) == ("10.0.0.9:1", 100)
    assert up == UP
    assert isinstance(closed, BrokerDown)
    assert (closed.peer, closed.code) == ("10.0.0.9:1", None)
    assert expired == DOWN
    assert isinstance(denied, RequestDenied)
    assert (denied.peer, denied.code) == ("10.0.0.9:1", 318)


def test_sequence_numbers_continue_after_the_journal(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    Recorder(event_log=event_log(), ns="n", boot="b", journal=journal).record([UP], at_ms=1)
    journal.stop()
    again = Recorder(event_log=event_log(), ns="n", boot="c", journal=journal_in(tmp_path))
    assert again.last_seq == 1
    assert again.record([UP], at_ms=1) == 2


def test_without_a_journal_events_are_numbered_and_durable_at_once() -> None:
    async def play() -> tuple[int, bool]:
        recorder = Recorder(event_log=event_log(), ns="n", boot="b")
        seq = recorder.record([UP, DOWN], at_ms=1)
        return seq, await recorder.durable(seq)

    assert asyncio.run(play()) == (2, True)


def test_a_durable_record_is_on_disk(tmp_path: Path) -> None:
    async def play() -> bool:
        journal = journal_in(tmp_path)
        journal.start()
        recorder = Recorder(event_log=event_log(), ns="n", boot="b", journal=journal)
        kept = await recorder.durable(recorder.record([KV], at_ms=1))
        found = [record.event for record in records(tmp_path)]
        await asyncio.to_thread(journal.stop)
        assert recorder.unkept == 0
        return kept and found == [KV]

    assert asyncio.run(play())


def test_a_failed_write_is_counted_and_does_not_block() -> None:
    async def play() -> tuple[bool, int]:
        files = FaultyFiles()
        opened = open_journal(files, ns="n", boot="b", options=JournalOptions(), now_ms=lambda: 5)
        opened.writer.start()
        files.error = 28
        recorder = Recorder(event_log=event_log(), ns="n", boot="b", journal=opened.writer)
        kept = await recorder.durable(recorder.record([KV], at_ms=1))
        files.error = None
        await asyncio.to_thread(opened.writer.stop)
        return kept, recorder.unkept

    assert asyncio.run(play()) == (False, 1)


def test_a_hanging_disk_delays_an_answer_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "_DURABLE_TIMEOUT_S", 0.01)

    async def play() -> tuple[bool, int]:
        opened = open_journal(FaultyFiles(), ns="n", boot="b", options=JournalOptions(), now_ms=lambda: 5)
        recorder = Recorder(event_log=event_log(), ns="n", boot="b", journal=opened.writer)  # its thread is not started
        kept = await recorder.durable(recorder.record([ServerStopped(reason="x")], at_ms=1))
        opened.writer.stop()  # writes the record, too late
        await asyncio.sleep(0)
        return kept, recorder.unkept

    assert asyncio.run(play()) == (False, 1)
