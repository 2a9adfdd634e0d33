"""Health sums up its parts; readiness is another question."""

import msgspec

from routebook.journal.write.writer import JournalStatus
from routebook.server.observe.health import Condition, Health, Part, of_journal, service_gate
from tests.support.core_client import CoreClient

WRITING = JournalStatus(
    state="writing",
    reason=None,
    last_seq=9,
    durable_seq=8,
    waiting_records=1,
    waiting_bytes=10,
    lag_ms=3,
    written_records=8,
    written_bytes=80,
    dropped_records=0,
    holes=0,
    commits=2,
    failures=0,
    rolled_segments=0,
    removed_segments=0,
    upkeep_problem=None,
)


def test_without_parts_all_is_well() -> None:
    report = Health().report()
    assert (report.condition, report.ready, report.parts) == (Condition.OK, True, {})


def test_the_worst_part_decides() -> None:
    health = Health()
    health.add("fine", Part)
    assert health.report().condition is Condition.OK
    health.add("disk", lambda: Part(Condition.DEGRADED, "full"))
    assert health.report().condition is Condition.DEGRADED
    health.add("more", lambda: Part(Condition.FAILED))
    health.add("again", lambda: Part(Condition.DEGRADED))
    report = health.report()
    assert report.condition is Condition.FAILED
    assert report.parts["disk"].says == "full"
    assert report.ready


def test_a_part_is_asked_each_time() -> None:
    health, full = Health(), [True]
    health.add("disk", lambda: Part(Condition.DEGRADED if full[0] else Condition.OK))
    assert health.report().condition is Condition.DEGRADED
    full[0] = False
    assert health.report().condition is Condition.OK


def test_not_ready_while_held() -> None:
    health = Health()
    health.hold("start", "not yet")
    assert health.waiting_for() == {"start": "not yet"}
    assert not health.report().ready
    health.release("start")
    health.release("start")
    assert health.report().ready


def test_not_ready_while_a_gate_is_shut() -> None:
    health, why = Health(), ["too early"]
    health.add_gate("gate", lambda: why[0] or None)
    assert health.waiting_for() == {"gate": "too early"}
    why[0] = ""
    assert health.report().ready


def test_the_gate_of_java() -> None:
    asker = CoreClient(needWaitForService="true", waitSecondsForService="45")
    gate = service_gate(asker.nameserver, lambda: asker.now_ms)
    assert gate() == "needWaitForService: routes are answered in 45 s"
    asker.now_ms += 44_999
    assert gate() == "needWaitForService: routes are answered in 1 s"
    asker.now_ms += 1
    assert gate() is None
    assert asker.route("nowhere").code == 17


def test_a_server_that_need_not_wait_has_no_gate() -> None:
    asker = CoreClient()
    assert service_gate(asker.nameserver, lambda: asker.now_ms)() is None


def test_a_writing_journal_is_well() -> None:
    part = of_journal(WRITING)
    assert (part.condition, part.facts["last_seq"], part.facts["durable_seq"]) == (Condition.OK, 9, 8)


def test_a_degraded_journal_says_why() -> None:
    part = of_journal(msgspec.structs.replace(WRITING, state="degraded", reason="disk full", dropped_records=4))
    assert part.condition is Condition.DEGRADED
    assert "disk full" in part.says
    assert "4 records dropped" in part.says


def test_a_journal_without_upkeep_is_degraded() -> None:
    part = of_journal(msgspec.structs.replace(WRITING, upkeep_problem="permission denied"))
    assert part.condition is Condition.DEGRADED
    assert "permission denied" in part.says
