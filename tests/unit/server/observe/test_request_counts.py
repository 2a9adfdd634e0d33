"""Counters of request and response codes."""

from routebook.server.observe.request_counts import OTHER, RequestCounts


def test_counts_have_the_format_of_java_and_are_reset() -> None:
    counts = RequestCounts()
    for code in (322, 105, 105):
        counts.requests[code] += 1
    counts.responses[0] += 3
    assert counts.take() == ("{105:2, 322:1}", "{0:3}")
    assert counts.take() == (None, None)


def test_totals_are_kept_and_unknown_codes_are_summed() -> None:
    counts = RequestCounts()
    for code in (105, 105, 77_777, 88_888):
        counts.requests[code] += 1
    counts.responses[0] += 4
    assert counts.totals() == ({105: 2, OTHER: 2}, {0: 4})
    counts.take()
    counts.requests[105] += 1
    counts.responses[9_999] += 1
    assert counts.totals() == ({105: 3, OTHER: 2}, {0: 4, OTHER: 1})
