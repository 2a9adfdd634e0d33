"""The doctor's checks of Controllers, from observations."""

from routebook.doctor.controller_checks import broker_sets, controllers
from routebook.doctor.observation import Observation, ObservedController, ObservedReplica, ObservedSet

PEERS = ("10.0.0.1:9878", "10.0.0.2:9878")


def node(number: int, leader: str | None = PEERS[0], peers: tuple[str, ...] = PEERS) -> ObservedController:
    return ObservedController(who=f"10.0.0.{number}:9878", leader=leader, peers=peers)


def observed(*nodes: ObservedController, sets: list[ObservedSet] | None = None) -> Observation:
    return Observation(
        nameservers=[], views=[], addresses={}, now_ms=0, controllers=list(nodes), broker_sets=sets or []
    )


def texts(*nodes: ObservedController) -> list[str]:
    return [finding.text for finding in controllers(observed(*nodes))]


def test_a_healthy_group_has_no_findings() -> None:
    assert texts(node(1), node(2)) == []
    assert texts() == []


def test_a_node_that_does_not_answer() -> None:
    silent = ObservedController(who="10.0.0.2:9878", failure="refused the connection")
    assert texts(node(1), silent) == ["Controller 10.0.0.2:9878 refused the connection"]


def test_a_node_that_requires_authentication() -> None:
    denied = ObservedController(who="10.0.0.2:9878", failure="answered 16: no signature")
    (finding,) = controllers(observed(denied))
    assert "--access-key" in finding.advice


def test_leaders() -> None:
    assert texts(node(1, None), node(2, None)) == ["no Controller leads"]
    assert texts(node(1), node(2, PEERS[1])) == [
        "the Controllers name different leaders: 10.0.0.1:9878: 10.0.0.1:9878; 10.0.0.2:9878: 10.0.0.2:9878"
    ]


def test_peers() -> None:
    local = ("127.0.0.1:9878",)
    assert texts(node(1, peers=local)) == [
        "controllerDLegerPeers has addresses that only their own machine can reach: 127.0.0.1:9878"
    ]
    here = ObservedController(who="127.0.0.1:9878", leader="127.0.0.1:9878", peers=local)
    assert texts(here) == [], "everything is on one machine"
    assert texts(node(1), node(2, peers=PEERS[:1])) == ["the Controllers have different lists of peers"]


def test_sets() -> None:
    replicas = (
        ObservedReplica(id=1, addr="a:1", alive=True, in_sync=True),
        ObservedReplica(id=2, addr="b:1", alive=True, in_sync=False),
        ObservedReplica(id=3, addr="c:1", alive=False, in_sync=False),
    )
    good = ObservedSet(name="b-a", master_id=1, replicas=replicas[:1])
    bad = ObservedSet(name="b-b", master_id=None, replicas=replicas)
    found = [(finding.severity, finding.text) for finding in broker_sets(observed(sets=[good, bad]))]
    assert found == [
        ("error", "broker set b-b has no master"),
        ("warning", "broker set b-b: no heartbeat from id 3 at c:1"),
        ("warning", "broker set b-b: not in sync: id 2 at b:1"),
    ]
