"""Prometheus metrics, collected from the server's counters at each scrape.

Label values are bounded: unsupported request codes are `other`, brokers are counted by state, not by name.
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily as Counter
from prometheus_client.metrics_core import GaugeMetricFamily as Gauge
from prometheus_client.metrics_core import HistogramMetricFamily, InfoMetricFamily, Metric
from prometheus_client.registry import Collector

from routebook import __version__
from routebook.codes import RequestCode, ResponseCode
from routebook.journal.write.writer import JournalStatus
from routebook.server.http.context import HttpContext
from routebook.server.http.views.answers import MemberState
from routebook.server.http.views.controller_metrics import controller_metrics
from routebook.server.http.views.metric_families import add_histogram, by_name, counters, gauges, name_of
from routebook.server.http.views.tables import groups_without_master, state_of
from routebook.server.net.limits import NAMES as LIMITS
from routebook.server.observe.health import SEVERITY

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_AGE_QUANTILES: Final = ((0.5, "0.5"), (0.9, "0.9"), (1.0, "1"))


class Metrics(Collector):
    """All metrics of one server."""

    def __init__(self, context: HttpContext) -> None:
        self._context = context
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def text(self) -> bytes:
        """The response to one scrape."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        info = InfoMetricFamily("routebook_build", "Version and id of this server.")
        info.add_metric([], {"version": __version__, "ns": self._context.ns})
        yield info
        if not self._context.only_controller:
            yield from self._traffic()
            yield from self._rejections()
            yield from self._tables()
            yield from self._brokers()
            yield from self._watchers()
        yield from self._health()
        if self._context.journal is not None:
            yield from _journal(self._context.journal.status())
        if self._context.controller is not None:
            yield from controller_metrics(self._context.controller, self._context.now_ms())

    def _traffic(self) -> Iterator[Metric]:
        traffic = self._context.traffic
        requests, responses = traffic.counts.totals()
        yield counters("routebook_requests", "Requests by kind.", "kind", by_name(requests, RequestCode))
        yield counters("routebook_responses", "Responses by response code.", "code", by_name(responses, ResponseCode))
        latencies = traffic.latencies
        seconds = HistogramMetricFamily(
            "routebook_request_seconds",
            "Time from reading a request to writing its response, by kind; `several`: several requests in one read.",
            labels=["kind"],
        )
        by_kind = {name_of(code, RequestCode): histogram for code, histogram in latencies.by_code.items()}
        for kind, histogram in {**by_kind, "other": latencies.others, "several": latencies.several}.items():
            if any(histogram.counts):
                add_histogram(seconds, [kind], histogram)
        yield seconds
        yield Gauge("routebook_connections", "Open connections to the NameServer port.", len(traffic.connections))
        yield Gauge(
            "routebook_connections_held_back", "Connections whose peer does not read its responses.", traffic.blocked
        )
        yield Counter("routebook_connections_accepted", "Connections accepted since the start.", traffic.accepted)
        lag = HistogramMetricFamily("routebook_event_loop_delay_seconds", "Event loop lag, four samples a second.")
        add_histogram(lag, [], self._context.loop_lag.histogram)
        yield lag

    def _rejections(self) -> Iterator[Metric]:
        exceeded = self._context.nameserver.exceeded
        counts = {limit: exceeded.get(limit, 0) for limit in LIMITS}
        yield counters("routebook_limits_exceeded", "Rejections by limit.", "limit", counts)
        denials = self._context.denials
        denied = 0 if denials is None else denials.total
        yield Counter("routebook_requests_denied", "Requests denied for lack of permission, including HTTP.", denied)

    def _tables(self) -> Iterator[Metric]:
        ns = self._context.nameserver
        sizes = ns.routes.sizes()
        yield Gauge("routebook_topics", "Topics with a route.", sizes.topics)
        yield Gauge("routebook_broker_groups", "Broker groups.", sizes.groups)
        yield Gauge(
            "routebook_broker_groups_without_master", "Broker groups without a master.", len(groups_without_master(ns))
        )
        yield Gauge("routebook_clusters", "Clusters.", sizes.clusters)
        yield Gauge("routebook_kv_entries", "Entries of the KV configuration.", len(ns.kv))
        yield Counter("routebook_route_changes", "Changes of the route tables.", ns.routes.revision)
        yield Gauge("routebook_route_cache_bytes", "Memory used by encoded routes.", ns.cache.bytes_held)
        yield Counter(
            "routebook_route_cache_encoded", "Routes encoded because the cache had no fresh entry.", ns.cache.encoded
        )

    def _brokers(self) -> Iterator[Metric]:
        now_ms = self._context.now_ms()
        states: dict[str, int] = dict.fromkeys(MemberState, 0)
        ages_ms = []
        for lease in self._context.nameserver.routes.lease_table.values():
            ages_ms.append(max(0, now_ms - lease.last_update_ms))
            for seat in lease.memberships.values():
                states[state_of(lease, seat, now_ms)] += 1
        yield gauges("routebook_brokers", "Brokers by state.", "state", states)
        ages_ms.sort()
        ages_s = {
            quantile: ages_ms[min(len(ages_ms) - 1, int(share * len(ages_ms)))] / 1000
            for share, quantile in (_AGE_QUANTILES if ages_ms else ())
        }
        yield gauges("routebook_heartbeat_age_seconds", "Time since a broker's last heartbeat.", "quantile", ages_s)

    def _watchers(self) -> Iterator[Metric]:
        feed = self._context.feed
        yield Gauge("routebook_watchers", "Open event streams and consoles.", self._context.watchers)
        yield Counter(
            "routebook_watchers_dropped", "Event streams dropped because the reader was too slow.", feed.dropped
        )
        yield Counter("routebook_events", "Events since the start.", feed.published)
        requests = Counter("routebook_http_requests", "HTTP requests.", labels=["route", "status"])
        for (route, status), count in self._context.http_requests.items():
            requests.add_metric([route, str(status)], count)
        yield requests

    def _health(self) -> Iterator[Metric]:
        report = self._context.health.report()
        yield Gauge("routebook_ready", "1 if the server is ready for clients.", int(report.ready))
        conditions = {name: SEVERITY[part.condition] for name, part in report.parts.items()}
        yield gauges("routebook_health", "0 ok, 1 degraded, 2 failed.", "part", conditions)
        facts = Gauge("routebook_part", "Numeric facts of the health parts.", labels=["part", "fact"])
        for name, part in report.parts.items():
            for fact, value in part.facts.items():
                if isinstance(value, int | float):
                    facts.add_metric([name, fact], float(value))
        yield facts


def _journal(status: JournalStatus) -> Iterator[Metric]:
    gauges = {
        "up": ("1 while journal writes succeed.", int(status.state == "writing")),
        "last_seq": ("Sequence number of the newest record.", status.last_seq),
        "durable_seq": ("Sequence number of the newest record on disk.", status.durable_seq),
        "waiting_records": ("Records not yet on disk.", status.waiting_records),
        "waiting_bytes": ("Bytes not yet on disk.", status.waiting_bytes),
        "lag_seconds": ("Age of the oldest record not yet on disk.", status.lag_ms / 1000),
    }
    counters = {
        "written_records": ("Records written.", status.written_records),
        "written_bytes": ("Bytes written.", status.written_bytes),
        "dropped_records": ("Records dropped before they reached the disk.", status.dropped_records),
        "holes": ("Ranges of missing sequence numbers.", status.holes),
        "commits": ("Group commits.", status.commits),
        "failures": ("Failed writes.", status.failures),
        "rolled_segments": ("Segments compressed.", status.rolled_segments),
        "removed_segments": ("Segments removed by retention.", status.removed_segments),
        "removed_unarchived": ("Segments removed by retention before they were archived.", status.removed_unarchived),
    }
    for name, (text, value) in gauges.items():
        yield Gauge(f"routebook_journal_{name}", text, value)
    for name, (text, count) in counters.items():
        yield Counter(f"routebook_journal_{name}", text, count)
