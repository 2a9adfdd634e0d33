"""The report as text."""

from routebook.fleet.live.observations import TopicObservation
from routebook.fleet.live.report import FaultRecord, FleetReport, format_report


def report(*topics: TopicObservation, scale: float = 1.0) -> FleetReport:
    return FleetReport(
        scenario="zone-loss",
        seed=3,
        nameservers=("127.0.0.1:9876",),
        time_scale=scale,
        lasted_s=60,
        brokers=12,
        registrations=40,
        refused=0,
        unheard=0,
        clients=5,
        requests={"103": 40, "105": 60},
        answers={"0": 95, "17": 5},
        timeouts=1,
        failures=2,
        lookups=60,
        misses=5,
        errors=0,
        topics_without_route=sum(seen.without_route_s > 0 for seen in topics),
        without_route_s=max((seen.without_route_s for seen in topics), default=0),
        faults=(FaultRecord(at_s=5, kind="crash", target="broker-001/0", lasts_s=10),),
        left_out=2,
        topics=topics,
    )


def test_a_run_without_faults() -> None:
    text = list(format_report(report(TopicObservation(topic="t", lookups=60))))
    assert text == [
        "zone-loss: 60 s of a fleet at 127.0.0.1:9876 (seed 3)",
        "brokers    12; 40 registrations accepted, 0 rejected",
        "requests   100 (103 × 40, 105 × 60); 1 timeouts, 2 failures",
        "faults     1, 2 left out",
        "clients    5; 60 look-ups, 5 misses, 0 unanswered; 0 of 1 topics were without a route for at least one client",
    ]


def test_the_worst_topics_come_first_and_the_list_is_limited() -> None:
    topics = [
        TopicObservation(topic=f"t-{k:02}", misses=k, clients=1, without_route_s=k, longest_s=k / 2, without_queue_s=k)
        for k in range(20)
    ]
    text = list(format_report(report(*topics, scale=20)))
    assert "20 times as fast" in text[0]
    assert text[7].split() == ["t-19", "19.0s", "9.5s", "19.0s", "1", "19"]
    assert text[-1] == "… and 7 more"
