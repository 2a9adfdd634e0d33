"""Prometheus metrics: correct values, valid format, bounded labels."""

from types import SimpleNamespace
from typing import cast

from prometheus_client.parser import text_string_to_metric_families

from routebook.server.http.views.metrics import Metrics
from routebook.server.net.connection import Connection
from routebook.server.observe.health import Condition, Part
from tests.support.http import Rig, change, rig

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(some: Rig) -> Samples:
    found: Samples = {}
    for family in text_string_to_metric_families(Metrics(some.context).text().decode()):
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, tuple(sorted(labels.items()))]


def test_requests_and_responses() -> None:
    with rig() as some:
        counts = some.traffic.counts
        counts.requests[105] += 7
        counts.responses[17] += 2
        counts.responses[0] += 5
        counts.take()
        counts.requests[105] += 1
        for code in range(40_000, 40_200):
            counts.requests[code] += 1
            counts.responses[code] += 1
        samples = scrape(some)
        assert value(samples, "routebook_requests_total", kind="get_routeinfo_by_topic") == 8
        assert value(samples, "routebook_requests_total", kind="other") == 200
        assert value(samples, "routebook_responses_total", code="topic_not_exist") == 2
        assert value(samples, "routebook_responses_total", code="success") == 5
        assert value(samples, "routebook_responses_total", code="other") == 200


def test_latencies_are_cumulative_histograms() -> None:
    with rig() as some:
        latencies = some.traffic.latencies
        for elapsed_us in (3, 10, 10, 600, 20_000_000):
            latencies.add(103, 1, elapsed_us * 1000)
        latencies.add(105, 9, 5000)
        samples = scrape(some)
        kind = "register_broker"
        name = "routebook_request_seconds"
        assert value(samples, f"{name}_bucket", kind=kind, le="8e-06") == 1
        assert value(samples, f"{name}_bucket", kind=kind, le="3.2e-05") == 3
        assert value(samples, f"{name}_bucket", kind=kind, le="0.000512") == 3
        assert value(samples, f"{name}_bucket", kind=kind, le="0.002048") == 4
        assert value(samples, f"{name}_bucket", kind=kind, le="8.388608") == 4
        assert value(samples, f"{name}_bucket", kind=kind, le="+Inf") == 5
        assert value(samples, f"{name}_count", kind=kind) == 5
        assert round(value(samples, f"{name}_sum", kind=kind), 6) == 20.000623
        assert value(samples, f"{name}_count", kind="several") == 1
        kinds = {dict(labels).get("kind") for (metric, labels) in samples if metric == f"{name}_count"}
        assert kinds == {kind, "several"}  # no series for kinds without requests


def test_brokers_by_state_and_age() -> None:
    with rig() as some:
        ask = some.asker
        for number in range(10):
            ask.register("t", "u", broker=f"b{number}", addr=f"10.0.0.{number}:1", connection=number + 1)
            ask.now_ms += 10_000
        ask.now_ms -= 10_000
        lease = next(iter(ask.nameserver.routes.lease_table.values()))
        lease.memberships["b0"] = lease.memberships["b0"]._replace(connection=None)
        samples = scrape(some)
        states = {
            state: value(samples, "routebook_brokers", state=state) for state in ("registered", "late", "recovered")
        }
        assert states == {"registered": 7, "late": 2, "recovered": 1}
        assert value(samples, "routebook_heartbeat_age_seconds", quantile="1") == 90
        assert value(samples, "routebook_heartbeat_age_seconds", quantile="0.5") == 50
        assert value(samples, "routebook_broker_groups") == 10
        assert value(samples, "routebook_broker_groups_without_master") == 0
        assert value(samples, "routebook_topics") == 2
        assert value(samples, "routebook_clusters") == 1


def test_an_empty_server_has_no_ages() -> None:
    samples = scrape(Rig(None, None))
    assert not [name for name, _ in samples if name == "routebook_heartbeat_age_seconds"]
    assert not [name for name, _ in samples if name.startswith("routebook_journal")]
    assert value(samples, "routebook_brokers", state="registered") == 0


def test_journal_cache_connections_watchers_process() -> None:
    with rig() as some:
        some.record(change(1))
        assert some.writer is not None
        some.writer.durable(1).result(20)
        some.asker.register("t", "u")
        some.asker.route("t")
        for number, is_blocked in ((1, False), (2, True)):
            connection = SimpleNamespace(flow=SimpleNamespace(is_blocked=is_blocked))
            some.traffic.add(number, cast("Connection", connection))
        some.traffic.accepted = 12
        some.context.watchers = 3
        some.context.http_requests["/healthz", 200] = 4
        samples = scrape(some)
        assert value(samples, "routebook_journal_up") == 1
        assert value(samples, "routebook_journal_last_seq") == 1
        assert value(samples, "routebook_journal_durable_seq") == 1
        assert value(samples, "routebook_journal_written_records_total") == 1
        assert value(samples, "routebook_journal_dropped_records_total") == 0
        assert value(samples, "routebook_journal_holes_total") == 0
        assert value(samples, "routebook_route_cache_encoded_total") == 1
        assert value(samples, "routebook_route_cache_bytes") > 300
        assert value(samples, "routebook_connections") == 2
        assert value(samples, "routebook_connections_held_back") == 1
        assert value(samples, "routebook_connections_accepted_total") == 12
        assert value(samples, "routebook_watchers") == 3
        assert value(samples, "routebook_events_total") == 1
        assert value(samples, "routebook_http_requests_total", route="/healthz", status="200") == 4
        assert value(samples, "process_resident_memory_bytes") > 1_000_000


def test_health_and_the_numeric_facts_of_its_parts() -> None:
    with rig() as some:
        facts = {"active": True, "silent": 6, "why": "text is not a metric", "since_ms": None}
        some.health.add("preservation", lambda: Part(Condition.DEGRADED, "silent", facts))  # type: ignore[arg-type]
        some.health.hold("stop", "stopping")
        samples = scrape(some)
        assert value(samples, "routebook_ready") == 0
        assert value(samples, "routebook_health", part="journal") == 0
        assert value(samples, "routebook_health", part="preservation") == 1
        assert value(samples, "routebook_part", part="preservation", fact="silent") == 6
        assert value(samples, "routebook_part", part="preservation", fact="active") == 1
        facts_shown = [dict(labels)["fact"] for name, labels in samples if name == "routebook_part"]
        assert "why" not in facts_shown
        assert "since_ms" not in facts_shown
