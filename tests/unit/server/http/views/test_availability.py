"""Availability of a broker per day."""

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


def test_an_uninterrupted_session() -> None:
    assert days([session(-DAY, None)], [run(-DAY, None)]) == [(24, 24, 0), (24, 24, 0)]


def test_an_outage_over_midnight_reduces_both_days() -> None:
    sessions = [session(0, 22 * HOUR, "expired", planned=False), session(26 * HOUR, None)]
    assert days(sessions, [run(0, None)]) == [(24, 22, 1), (24, 22, 0)]


def test_a_planned_stop_is_down_time_of_its_own() -> None:
    sessions = [session(0, 6 * HOUR, "unregistered", planned=True), session(12 * HOUR, None)]
    first, second = by_day(sessions, [run(0, None)], from_ms=START, to_ms=START + 2 * DAY)
    assert (first.observed_ms, first.up_ms, first.planned_down_ms) == (24 * HOUR, 18 * HOUR, 6 * HOUR)
    assert (first.outages, first.planned_outages, second.planned_outages) == (0, 1, 0)


def test_a_planned_stop_without_a_return_is_not_observed() -> None:
    assert days([session(0, 6 * HOUR, "unregistered", planned=True)], [run(0, None)]) == [(6, 6, 0), (0, 0, 0)]


def test_a_move_a_role_switch_and_a_cold_start_are_not_outages() -> None:
    sessions = [
        session(0, HOUR, "replaced", planned=True),
        session(HOUR, 2 * HOUR, "role_switch"),
        session(2 * HOUR, 3 * HOUR, "nameserver_cold_start"),
        session(4 * HOUR, None),
    ]
    assert days(sessions, [run(0, None)], until=DAY) == [(23, 23, 0)]


def test_a_broker_that_did_not_return_within_seven_days_is_not_observed() -> None:
    found = days([session(0, 12 * HOUR, "closed", planned=False)], [run(0, None)], until=9 * DAY)
    assert found == [(24, 12, 1), *[(24, 0, 0)] * 6, (12, 0, 0), (0, 0, 0)]


def test_downtime_of_the_nameserver_is_not_observed() -> None:
    assert days([session(0, None)], [run(0, 6 * HOUR), run(18 * HOUR, None)]) == [(12, 12, 0), (24, 24, 0)]


def test_the_time_before_the_first_registration_is_not_observed() -> None:
    assert days([session(30 * HOUR, None)], [run(0, None)]) == [(0, 0, 0), (18, 18, 0)]


def test_an_outage_lasts_until_now_if_the_broker_has_not_returned() -> None:
    assert days([session(0, 12 * HOUR, "closed", planned=False)], [run(0, None)], until=36 * HOUR) == [
        (24, 12, 1),
        (12, 0, 0),
    ]


def test_days_are_named_by_their_date() -> None:
    found = by_day([session(0, None)], [run(0, None)], from_ms=START, to_ms=START + DAY)
    assert [day.day for day in found] == ["2024-10-04"]
