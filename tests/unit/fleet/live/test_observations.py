"""What clients saw."""

from routebook.fleet.live.observations import Sightings, TopicSeen


def test_a_stretch_without_a_route_lasts_from_look_up_to_look_up() -> None:
    sightings = Sightings()
    for at, route in ((0, True), (10, False), (12, False), (15, True), (20, False), (21, True)):
        sightings.saw("t", 1, at, route=route, writable=route)
    assert sightings.report(30) == [
        TopicSeen(topic="t", lookups=6, misses=3, clients=1, without_route_s=6.0, longest_s=5.0, without_queue_s=6.0)
    ]


def test_what_still_lasts_lasts_until_now() -> None:
    sightings = Sightings()
    sightings.saw("t", 1, 5, route=False, writable=False)
    assert sightings.without_route() == 1
    (seen,) = sightings.report(9)
    assert (seen.without_route_s, seen.longest_s) == (4, 4)
    assert sightings.report(9) == sightings.report(9)  # to report changes nothing


def test_the_client_that_fares_worst_counts() -> None:
    sightings = Sightings()
    for client, back in ((1, 3), (2, 8)):
        sightings.saw("t", client, 0, route=False, writable=False)
        sightings.saw("t", client, back, route=True, writable=True)
    (seen,) = sightings.report(100)
    assert (seen.without_route_s, seen.clients) == (8, 2)


def test_a_route_without_a_queue_to_write_to() -> None:
    sightings = Sightings()
    sightings.saw("t", 1, 0, route=True, writable=False)
    sightings.saw("t", 1, 7, route=True, writable=True)
    (seen,) = sightings.report(10)
    assert (seen.without_route_s, seen.without_queue_s, seen.misses) == (0, 7, 0)


def test_no_answer_is_no_news() -> None:
    sightings = Sightings()
    sightings.saw("known", 1, 0, route=True, writable=True)
    sightings.failed("known", 1, 5)
    sightings.failed("never", 1, 5)
    known, never = sightings.report(10)
    assert (known.errors, known.without_route_s) == (1, 0)
    assert (never.errors, never.without_route_s) == (1, 5)
    assert sightings.without_route() == 1


def test_topics_by_name() -> None:
    sightings = Sightings()
    for topic in ("b", "a", "c"):
        sightings.saw(topic, 1, 0, route=True, writable=True)
    assert [seen.topic for seen in sightings.report(1)] == ["a", "b", "c"]
