"""Health reports the worst component; readiness is separate."""

import asyncio
from pathlib import Path

from routebook.server.observe.health import Condition, Health, Part, service_gate, tls_health
from tests.support.core_client import CoreClient
from tests.support.in_process_server import connected, running
from tests.support.remoting import register


def test_without_components_health_is_ok() -> None:
    report = Health().report()
    assert (report.condition, report.ready, report.parts) == (Condition.OK, True, {})


def test_the_worst_component_decides() -> None:
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


def test_a_probe_runs_at_each_report() -> None:
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


def test_not_ready_while_a_gate_returns_a_reason() -> None:
    health, why = Health(), ["too early"]
    health.add_gate("gate", lambda: why[0] or None)
    assert health.waiting_for() == {"gate": "too early"}
    why[0] = ""
    assert health.report().ready


def test_need_wait_for_service_delays_readiness() -> None:
    asker = CoreClient(needWaitForService="true", waitSecondsForService="45")
    gate = service_gate(asker.nameserver, lambda: asker.now_ms)
    assert gate() == "needWaitForService: routes are answered in 45 s"
    asker.now_ms += 44_999
    assert gate() == "needWaitForService: routes are answered in 1 s"
    asker.now_ms += 1
    assert gate() is None
    assert asker.route("nowhere").code == 17


def test_without_need_wait_for_service_the_gate_is_open() -> None:
    asker = CoreClient()
    assert service_gate(asker.nameserver, lambda: asker.now_ms)() is None


def test_kept_silent_brokers_degrade_the_server(tmp_path: Path) -> None:
    async def play() -> None:
        async with running(tmp_path) as server, connected(server) as talk:
            for n in range(6):
                assert (await talk.ask(register(broker=f"b{n}", addr=f"10.0.0.{n}:1", timeout_ms=1))).code == 0
            server.nameserver.scan(server.nameserver.started_ms + 600_000)
            part = server.health.report().parts["preservation"]
            assert (part.condition, part.facts["active"], part.facts["silent"]) == (Condition.DEGRADED, True, 6)
            assert "routes of 6 silent brokers are kept" in part.says
            assert server.health.report().ready

    asyncio.run(play())


def test_tls_is_degraded_by_unusable_files_and_near_expiry() -> None:
    day_ms = 86_400_000
    fine = tls_health(None, 30 * day_ms, 0)
    assert (fine.condition, fine.facts["expires_in_days"], fine.facts["reload_failed"]) == (Condition.OK, 30, False)
    assert tls_health(None, None, 0).condition is Condition.OK
    for part, says in (
        (tls_health("x.pem is not readable", 30 * day_ms, 0), "x.pem is not readable"),
        (tls_health(None, 3 * day_ms, 0), "expires in 3.0 days"),
        (tls_health(None, 3 * day_ms, 4 * day_ms), "has expired"),
    ):
        assert part.condition is Condition.DEGRADED
        assert says in part.says
