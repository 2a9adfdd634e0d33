"""Builds Prometheus metrics from the server's counters."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final

from prometheus_client.metrics_core import CounterMetricFamily as Counter
from prometheus_client.metrics_core import GaugeMetricFamily as Gauge
from prometheus_client.metrics_core import HistogramMetricFamily, Metric

from routebook.server.observe.latency import Histogram

_EDGES: Final = range(3, 24, 2)  # every second power of two: 8 µs, 32 µs, … 8 s


def gauges(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = Gauge(name, text, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family


def counters(name: str, text: str, label: str, counts: dict[str, int]) -> Metric:
    family = Counter(name, text, labels=[label])
    for value, count in counts.items():
        family.add_metric([value], count)
    return family


def add_histogram(family: HistogramMetricFamily, labels: Iterable[str], histogram: Histogram) -> None:
    counts = histogram.counts
    buckets = [(str((1 << edge) / 1e6), float(sum(counts[: edge + 1]))) for edge in _EDGES]
    total = float(sum(counts))
    family.add_metric(list(labels), buckets=[*buckets, ("+Inf", total)], sum_value=histogram.total_ns / 1e9)


def by_name(counts: dict[int, int], codes: type[IntEnum]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for code, count in counts.items():
        name = name_of(code, codes)
        sums[name] = sums.get(name, 0) + count
    return sums


def name_of(code: int, codes: type[IntEnum]) -> str:
    try:
        return codes(code).name.lower()
    except ValueError:
        return "other"
