"""A restart with the same simulated brokers: how long clients of Java and of Routebook have no route."""

import pytest

from benchmarks.warm_start import compare

PERIOD_S = 8.0  # real brokers register every 30 s


@pytest.mark.java
@pytest.mark.slow
def test_routes_are_complete_before_the_brokers_register_again() -> None:
    outages = compare(brokers=8, topics=100, period_s=PERIOD_S)
    java, own = outages["Java"], outages["Routebook"]
    # Java has complete routes after the last broker has registered, Routebook after its start
    assert own.partial_s < java.partial_s
    assert own.partial_s == pytest.approx(own.missing_s, abs=0.5), "routes are complete or absent"
