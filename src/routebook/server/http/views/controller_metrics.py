"""Prometheus metrics of a Controller node. docs/controller.md maps Java's names to these."""

from collections.abc import Iterator

from prometheus_client.metrics_core import CounterMetricFamily as Counter
from prometheus_client.metrics_core import GaugeMetricFamily as Gauge
from prometheus_client.metrics_core import HistogramMetricFamily, Metric

from routebook.codes import ResponseCode
from routebook.controller.codes import ControllerRequest, ControllerResponse
from routebook.controller.liveness import LiveView
from routebook.server.http.context import ControllerPart
from routebook.server.http.views.metric_families import add_histogram, counters, gauges, name_of
from routebook.server.observe.controller_meter import ControllerMeter


def controller_metrics(part: ControllerPart, now_ms: int) -> Iterator[Metric]:
    """Labels are bounded: clusters are those of stored sets, codes are known ones."""
    node = part.overview()
    yield Gauge("routebook_controller_leader", "1 if this node leads.", int(node.is_leader))
    yield Gauge("routebook_controller_leader_known", "1 if this node knows a leader.", int(node.leader is not None))
    yield from _sets(part, now_ms)
    yield from _traffic(part.meter)
    problems = Counter(
        "routebook_controller_etcd_problems", "Requests to etcd that failed or were late.", labels=["endpoint", "kind"]
    )
    for labels, count in sorted(part.etcd_problems.items()):
        problems.add_metric(list(labels), count)
    yield problems


def _sets(part: ControllerPart, now_ms: int) -> Iterator[Metric]:
    live = LiveView(part.machine.live, now_ms)
    alive: dict[str, int] = {}
    with_master = out_of_sync = 0
    for state in part.machine.sets.values():
        here = sum(live.is_alive(state.cluster, state.name, number) for number in state.replicas)
        alive[state.cluster] = alive.get(state.cluster, 0) + here
        with_master += state.master_id is not None
        out_of_sync += len(state.replicas.keys() - set(state.sync_state_set))
    sets = {"with_master": with_master, "without_master": len(part.machine.sets) - with_master}
    yield gauges("routebook_controller_sets", "Broker sets.", "state", sets)
    yield gauges("routebook_controller_live_brokers", "Brokers that send heartbeats to this node.", "cluster", alive)
    yield Gauge("routebook_controller_replicas_out_of_sync", "Replicas outside their sync-state set.", out_of_sync)


def _traffic(meter: ControllerMeter) -> Iterator[Metric]:
    requests = Counter("routebook_controller_requests", "Requests by kind and response code.", labels=["kind", "code"])
    for (code, response), count in sorted(meter.requests.items()):
        answer = name_of(response, ControllerResponse if response >= min(ControllerResponse) else ResponseCode)
        requests.add_metric([name_of(code, ControllerRequest), answer], count)
    yield requests
    seconds = HistogramMetricFamily(
        "routebook_controller_request_seconds", "Time from a request to its response, by kind.", labels=["kind"]
    )
    for code, histogram in sorted(meter.latencies.items()):
        add_histogram(seconds, [name_of(code, ControllerRequest)], histogram)
    yield seconds
    elections = Counter("routebook_controller_elections", "Elections.", labels=["result", "cause"])
    for labels, count in sorted(meter.elections.items()):
        elections.add_metric(list(labels), count)
    yield elections
    yield counters("routebook_controller_commits", "Commits by result.", "result", dict(meter.commits))
    commit_seconds = HistogramMetricFamily("routebook_controller_commit_seconds", "Time of successful commits.")
    add_histogram(commit_seconds, [], meter.commit_latency)
    yield commit_seconds
