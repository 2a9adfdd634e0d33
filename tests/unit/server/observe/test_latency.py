"""Histograms with buckets of powers of two."""

import pytest

from routebook.server.observe.latency import Histogram, Latencies


@pytest.mark.parametrize(
    ("elapsed_ns", "bucket"),
    [(0, 0), (999, 0), (1000, 1), (1999, 1), (2000, 2), (3999, 2), (4000, 3), (1 << 60, 51)],
)
def test_a_bucket_counts_values_below_its_power_of_two(elapsed_ns: int, bucket: int) -> None:
    histogram = Histogram()
    histogram.add(elapsed_ns)
    assert histogram.counts.index(1) == bucket
    assert histogram.total_ns == elapsed_ns
    assert elapsed_ns < 1000 << bucket


def test_latencies_per_code_with_one_histogram_for_unknown_codes() -> None:
    latencies = Latencies()
    latencies.add(105, 1, 5000)
    latencies.add(105, 3, 9000)
    for code in range(100_000, 100_100):
        latencies.add(code, 1, 1000)
    assert sum(latencies.by_code[105].counts) == 1
    assert (sum(latencies.several.counts), latencies.several.total_ns) == (1, 9000)
    assert sum(latencies.others.counts) == 100
    assert 100_000 not in latencies.by_code
