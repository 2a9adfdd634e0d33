"""Observations of clients per topic."""

from routebook.fleet.live.observations import Observations, TopicObservation


def test_an_interval_without_a_route_lasts_from_look_up_to_look_up() -> None:
    observations = Observations()
    for at, route in ((0, True), (10, False), (12, False), (15, True), (20, False), (21, True)):
        observations.answered("t", 1, at, route=route, writable=route)
    assert observations.report(30) == [
        TopicObservation(
            topic="t", lookups=6, misses=3, clients=1, without_route_s=6.0, longest_s=5.0, without_queue_s=6.0
        )
    ]


def test_an_open_interval_ends_now() -> None:
    observations = Observations()
    observations.answered("t", 1, 5, route=False, writable=False)
    assert observations.without_route() == 1
    (seen,) = observations.report(9)
    assert (seen.without_route_s, seen.longest_s) == (4, 4)
    assert observations.report(9) == observations.report(9)  # a report changes nothing


def test_the_worst_client_counts() -> None:
    observations = Observations()
    for client, back in ((1, 3), (2, 8)):
        observations.answered("t", client, 0, route=False, writable=False)
        observations.answered("t", client, back, route=True, writable=True)
    (seen,) = observations.report(100)
    assert (seen.without_route_s, seen.clients) == (8, 2)


def test_a_route_without_a_writable_queue() -> None:
    observations = Observations()
    observations.answered("t", 1, 0, route=True, writable=False)
    observations.answered("t", 1, 7, route=True, writable=True)
    (seen,) = observations.report(10)
    assert (seen.without_route_s, seen.without_queue_s, seen.misses) == (0, 7, 0)


def test_an_unanswered_look_up_keeps_the_known_route() -> None:
    observations = Observations()
    observations.answered("known", 1, 0, route=True, writable=True)
    observations.failed("known", 1, 5)
    observations.failed("never", 1, 5)
    known, never = observations.report(10)
    assert (known.errors, known.without_route_s) == (1, 0)
    assert (never.errors, never.without_route_s) == (1, 5)
    assert observations.without_route() == 1


def test_topics_are_sorted_by_name() -> None:
    observations = Observations()
    for topic in ("b", "a", "c"):
        observations.answered(topic, 1, 0, route=True, writable=True)
    assert [seen.topic for seen in observations.report(1)] == ["a", "b", "c"]
