"""How much of a day a broker was there."""

from routebook.history.query.sessions import ServerRun, Session
from routebook.server.http.views.availability import by_day

DAY = 86_400_000
HOUR = 3_600_000
START = 20_000 * DAY


def session(begin: int, end: int | None, ended: str | None = None, *, planned: bool | None = None) -> Session:
    return Session(
        broker_id=0,
        addr="a",
        cluster="c",
        from_ms=START + begin,
        began="broker_up",
        to_ms=None if end is None else START + end,
        ended=ended,
        planned=planned,
    )


def run(begin: int, end: int | None) -> ServerRun:
    return ServerRun(
        from_ms=START + begin, to_ms=None if end is None else START + end, ended=None if end is None else "stopped"
    )


def days(sessions: list[Session], runs: list[ServerRun], *, until: int = 2 * DAY) -> list[tuple[int, int, int]]:
    found = by_day(sessions, runs, from_ms=START, to_ms=START + until)
    return [(day.observed_ms // HOUR, day.up_ms // HOUR, day.outages) for day in found]


def test_up_all_the_time() -> None:
    assert days([session(-DAY, None)], [run(-DAY, None)]) == [(24, 24, 0), (24, 24, 0)]


def test_an_outage_counts_against_it_over_midnight() -> None:
    sessions = [session(0, 22 * HOUR, "expired", planned=False), session(26 * HOUR, None)]
    assert days(sessions, [run(0, None)]) == [(24, 22, 1), (24, 22, 0)]


def test_a_planned_leave_does_not() -> None:
    sessions = [session(0, 6 * HOUR, "unregistered", planned=True), session(12 * HOUR, None)]
    assert days(sessions, [run(0, None)]) == [(18, 18, 0), (24, 24, 0)]


def test_time_in_which_the_nameserver_did_not_run_is_not_observed() -> None:
    assert days([session(0, None)], [run(0, 6 * HOUR), run(18 * HOUR, None)]) == [(12, 12, 0), (24, 24, 0)]


def test_before_it_first_came_nobody_missed_it() -> None:
    assert days([session(30 * HOUR, None)], [run(0, None)]) == [(0, 0, 0), (18, 18, 0)]


def test_one_that_has_not_come_back_is_missed_until_now() -> None:
    assert days([session(0, 12 * HOUR, "closed", planned=False)], [run(0, None)], until=36 * HOUR) == [
        (24, 12, 1),
        (12, 0, 0),
    ]


def test_days_have_names() -> None:
    found = by_day([session(0, None)], [run(0, None)], from_ms=START, to_ms=START + DAY)
    assert [day.day for day in found] == ["2024-10-04"]
