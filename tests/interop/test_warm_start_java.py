"""A restart under the same make-believe brokers: how long clients of Java's NameServer and of ours have no route."""

import pytest

from benchmarks.warm_start import compare

PERIOD_S = 8.0  # real brokers register each 30 s


@pytest.mark.java
@pytest.mark.slow
def test_a_restart_is_over_before_the_brokers_are_back() -> None:
    outages = compare(brokers=8, topics=100, period_s=PERIOD_S)
    java, own = outages["Java"], outages["Routebook"]
    # Java's has whole routes when the last broker has had its turn, ours when the process is there again
    assert own.partial_s < java.partial_s
    assert own.partial_s == pytest.approx(own.missing_s, abs=0.5), "whole or none"
