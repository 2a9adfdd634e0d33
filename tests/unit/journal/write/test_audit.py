"""Records of administrators outlive the journal, and churn of brokers cannot remove them."""

import errno

import msgspec

from routebook.controller_events import ElectionCause, MasterElected
from routebook.events import BrokerDown, DownReason, Event, KvChanged, RequestDenied, ServerStopped, TopicDeleted
from routebook.journal.files import Files
from routebook.journal.read.reader import Line, read
from routebook.journal.read.verify import verify
from routebook.journal.record import kind_of
from routebook.journal.segments import list_segments
from routebook.journal.write.audit import AUDIT_KINDS, AuditStream, audit_records, chain_at_end
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from tests.support.faulty_files import FaultyFiles
from tests.support.journal_events import EVERY_KIND, pending, write_segment

OPTIONS = JournalOptions(segment_bytes=4000, retain_bytes=6000)


def churn(number: int) -> Event:
    reason = DownReason.DEREGISTERED if number % 2 else DownReason.CLOSED
    return BrokerDown(cluster="c", broker=f"b{number:032x}", broker_id=number, addr=f"h{number}:1", reason=reason)


def put(number: int) -> Event:
    return KvChanged(namespace="n", key=f"k{number}", after="v", peer="10.0.0.1:5", who="ops", code=100)


def events_of(files: Files) -> list[object]:
    return [item.record.event for item in read(files) if isinstance(item, Line)]


def test_only_what_needs_admin_write_is_kept() -> None:
    assert {"broker_up", "broker_down", "topics_changed", "request_denied", "lookup_minute"}.isdisjoint(AUDIT_KINDS)
    files = FaultyFiles()
    chosen = [event for event in EVERY_KIND if isinstance(event, MasterElected)]
    by_operator = [msgspec.structs.replace(event, cause=ElectionCause.OPERATOR) for event in chosen]
    by_broker = [msgspec.structs.replace(event, broker='"cause":"operator"', cause="broker") for event in chosen]
    denied = RequestDenied(code=1, why='"kind":"kv_changed"')
    events = [*(event for event in EVERY_KIND if event not in chosen), *by_broker, denied, *by_operator]
    files.put("00000000000000000001.jsonl", b"".join(pending(n, event=event).line for n, event in enumerate(events, 1)))
    (segment,) = list_segments(files.names()).segments
    kinds = {kind_of(event) for event in EVERY_KIND} & AUDIT_KINDS
    kept = [record.seq for record in audit_records(files, segment)]
    assert by_operator
    assert kept == [n for n, event in enumerate(events, 1) if kind_of(event) in kinds or event in by_operator]


def test_churn_does_not_push_out_the_changes_of_administrators() -> None:
    """Fails without the audit stream: the journal keeps its newest bytes only."""
    files, audit = FaultyFiles(), FaultyFiles()
    kept = []
    for start in range(3):
        writer = open_journal(
            files, ns="n", boot=f"b{start}", options=OPTIONS, now_ms=lambda: 10**6, audit=audit
        ).writer
        for number in range(40):
            event = put(100 * start + number)
            kept.append(event)
            writer.append(event, 10**6)
            for at in range(20):
                writer.append(churn(1000 * start + 20 * number + at), 10**6)
            assert writer.commit()
            writer.roller.run_once()
        assert writer.stop()
        writer.roller.run_once()
    in_journal = [event for event in events_of(files) if isinstance(event, KvChanged)]
    in_audit = [event for event in events_of(audit) if isinstance(event, KvChanged)]
    assert len(in_journal) < len(kept) / 2
    assert in_audit + in_journal == kept, "each once, in order"
    assert not any(isinstance(event, BrokerDown) for event in events_of(audit))
    assert verify(files).whole
    head = writer.heads()["audit"]
    report = verify(audit, is_audit=True)
    assert (report.whole, report.last_seq) == (True, head[0])
    assert chain_at_end(audit).head == head[1]


def test_an_altered_audit_record_breaks_its_chain() -> None:
    files = FaultyFiles()
    for first in (1, 11):
        stream = AuditStream(files, options=JournalOptions(), now_ms=lambda: 1)
        stream.add([pending(first + n, event=TopicDeleted(topic=f"t{n}")) for n in range(5)])
    assert verify(files, is_audit=True).whole
    name = list_segments(files.names()).segments[0].name
    files.put(name, files.text(name).replace(b'"t3"', b'"t4"'))
    assert not verify(files, is_audit=True).whole


def test_records_are_added_once_and_a_torn_line_is_cut_off() -> None:
    files = FaultyFiles()
    records = [pending(n, event=put(n)) for n in (3, 7)]
    stream = AuditStream(files, options=JournalOptions(), now_ms=lambda: 1)
    stream.add(records)
    stream.add(records)
    (name,) = files.names()
    files.put(name, files.text(name) + b'{"v":1,')
    again = AuditStream(files, options=JournalOptions(), now_ms=lambda: 1)
    again.add([*records, pending(9, event=put(9))])
    assert [item.record.seq for item in read(files) if isinstance(item, Line)] == [3, 7, 9]
    assert verify(files, is_audit=True).whole
    assert again.finished.keys() == {name}


def test_a_segment_is_not_removed_before_its_audit_records_are_on_disk() -> None:
    audit = FaultyFiles()
    audit.error = errno.ENOSPC
    files = FaultyFiles()
    options = JournalOptions(retain_age_s=1)
    writer = open_journal(files, ns="n", boot="b", options=options, now_ms=lambda: 10**9).writer
    writer.append(put(1), 1)
    assert writer.stop()
    writer = open_journal(files, ns="n", boot="b", options=options, now_ms=lambda: 10**9, audit=audit).writer
    writer.roller.run_once()
    assert writer.roller.problem is not None
    assert "No space left" in writer.roller.problem
    assert [type(event) for event in events_of(files)] == [KvChanged]
    audit.error = None
    writer.roller.run_once()
    assert events_of(files) == []
    assert [type(event) for event in events_of(audit)] == [KvChanged]


def test_the_audit_stream_has_its_own_retention() -> None:
    audit, now_ms = FaultyFiles(), 100_000_000
    write_segment(audit, 1, 3, roll=True)
    options = JournalOptions(audit_retain_age_s=3600)
    writer = open_journal(FaultyFiles(), ns="n", boot="b", options=options, now_ms=lambda: now_ms, audit=audit).writer
    writer.roller.run_once()
    assert events_of(audit) == []


def test_an_empty_stream_has_no_head() -> None:
    stream = AuditStream(FaultyFiles(), options=JournalOptions(), now_ms=lambda: 1)
    stream.open()
    assert stream.head is None
    stream.add([pending(1, event=ServerStopped(reason="x"))])
    assert stream.head is not None
