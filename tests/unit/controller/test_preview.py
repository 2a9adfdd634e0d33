"""Previews of an operator's requests."""

from routebook.controller.liveness import BrokerId, Heartbeat
from routebook.controller.machine import Machine
from routebook.controller.preview import preview
from routebook.controller.requests import CleanBrokerData, ElectMaster
from routebook.controller.state import BrokerSet, Replica


def machine() -> Machine:
    replicas = {number: Replica(f"h{number}:1", f"h{number}:1;7") for number in (1, 2, 3)}
    state = BrokerSet(
        cluster="c", name="a", replicas=replicas, master_id=1, master_epoch=4, sync_state_set=(1, 2), sync_state_epoch=6
    )
    made = Machine({"a": state})
    for number in (2, 3):
        made.live.heartbeat(Heartbeat(broker=BrokerId("c", "a", number)), connection=number, now_ms=0)
    return made


def texts(
    request: object, *, allow_unclean: bool = False
) -> tuple[list[tuple[str, str | None, str | None]], list[str]]:
    changes, notes = preview(machine(), request, now_ms=0, allow_unclean=allow_unclean)
    return [(one.what, one.before, one.after) for one in changes], notes


def test_an_election() -> None:
    assert texts(ElectMaster("a", 2, designated=True)) == (
        [
            ("master of a", "1 at h1:1", "2 at h2:1"),
            ("master epoch", "4", "5"),
            ("in-sync replicas", "1, 2", "2"),
        ],
        [],
    )


def test_a_replica_out_of_sync() -> None:
    request = ElectMaster("a", 3, designated=True)
    assert texts(request) == ([], ["Failed to elect a new master"])
    changes, notes = texts(request, allow_unclean=True)
    assert changes[0] == ("master of a", "1 at h1:1", "3 at h3:1")
    assert "messages that only the old master has are lost" in notes[0]


def test_a_removal() -> None:
    changes, _ = texts(CleanBrokerData("c", "a", (1,)))
    assert ("replica 1", "h1:1", None) in changes
    assert ("master of a", "1 at h1:1", "none") in changes
    assert texts(CleanBrokerData("c", "a", (2,)))[0] == []
