"""Decisions of the Controller: what differs from Java on purpose, and rules that the captured sessions do not reach."""

from typing import Any, Final

import msgspec
import pytest

from routebook.controller.codes import ControllerResponse
from routebook.controller.decide import Decision
from routebook.controller.liveness import BrokerId, Heartbeat
from routebook.controller.machine import Machine
from routebook.controller.requests import (
    AlterSyncStateSet,
    ApplyBrokerId,
    CleanBrokerData,
    ElectMaster,
    GetNextBrokerId,
    RegisterBroker,
)
from routebook.controller.state import BrokerSet, MasterElected, Replica, StateError, apply

NOW_MS: Final = 1_000_000
CLUSTER: Final = "C1"
NAME: Final = "b-a"


class Controller:
    """A machine with one broker set."""

    def __init__(self) -> None:
        self.machine = Machine()
        self.unclean = False

    def ask(self, request: Any) -> Decision:
        decision = self.machine.decide(request, now_ms=NOW_MS, allow_unclean=self.unclean)
        if decision.event is not None:
            self.machine.apply(decision.event)
        return decision

    def join(self, *ids: int) -> None:
        for number in ids:
            assert self.ask(ApplyBrokerId(CLUSTER, NAME, number, f"10.0.0.{number}:1;7")).answer.code == 0

    def alive(self, *ids: int, epoch: int = 0, offset: int = 0, connection: int | None = None) -> None:
        for number in ids:
            beat = Heartbeat(broker=BrokerId(CLUSTER, NAME, number), epoch=epoch, max_offset=offset)
            self.machine.live.heartbeat(beat, connection=connection or number, now_ms=NOW_MS)

    @property
    def state(self) -> BrokerSet:
        return self.machine.sets[NAME]


@pytest.fixture
def controller() -> Controller:
    return Controller()


def test_the_next_id_is_the_highest_plus_one(controller: Controller) -> None:
    controller.join(1, 5)
    assert controller.ask(GetNextBrokerId(CLUSTER, NAME)).answer.ext == {
        "clusterName": CLUSTER,
        "nextBrokerId": "6",
        "brokerName": NAME,
    }


def test_a_removed_id_is_not_assigned_again(controller: Controller) -> None:
    controller.join(1, 2)
    controller.ask(CleanBrokerData(CLUSTER, NAME, (2,)))
    assert controller.state.next_id == 3
    refused = controller.ask(ApplyBrokerId(CLUSTER, NAME, 2, "10.0.0.9:1;8"))
    assert refused.answer.code == ControllerResponse.BROKER_ID_INVALID


@pytest.mark.parametrize("number", [0, -1])
def test_ids_below_one_are_rejected(controller: Controller, number: int) -> None:
    controller.join(1)
    refused = controller.ask(ApplyBrokerId(CLUSTER, NAME, number, "10.0.0.9:1;8"))
    assert refused.answer.code == ControllerResponse.BROKER_ID_INVALID


def test_the_same_application_again_changes_nothing(controller: Controller) -> None:
    controller.join(1)
    again = controller.ask(ApplyBrokerId(CLUSTER, NAME, 1, "10.0.0.1:1;7"))
    assert (again.answer.code, again.event) == (0, None)


def test_only_a_registered_broker_wins_the_first_election(controller: Controller) -> None:
    controller.join(1)
    assert controller.ask(ElectMaster(NAME, 42)).answer.code == ControllerResponse.ELECT_MASTER_FAILED
    assert controller.state.master_id is None


def test_a_search_without_candidates_does_not_end_the_first_election(controller: Controller) -> None:
    controller.join(1)
    controller.alive(1)
    failed = controller.ask(ElectMaster(NAME))
    assert (failed.answer.code, failed.event) == (ControllerResponse.MASTER_NOT_AVAILABLE, None)
    assert controller.ask(ElectMaster(NAME, 1)).answer.code == 0
    assert controller.state.master_epoch == 1


def test_losing_the_last_broker_raises_the_epoch_once(controller: Controller) -> None:
    controller.join(1)
    controller.alive(1)
    controller.ask(ElectMaster(NAME, 1))
    controller.machine.live.connection_lost(1)
    for _ in range(3):
        assert controller.ask(ElectMaster(NAME)).answer.code == ControllerResponse.MASTER_NOT_AVAILABLE
    assert (controller.state.master_id, controller.state.master_epoch) == (None, 2)


def test_a_designated_election_without_an_id_keeps_the_master(controller: Controller) -> None:
    controller.join(1)
    controller.alive(1)
    controller.ask(ElectMaster(NAME, 1))
    assert controller.ask(ElectMaster(NAME, -1, True)).answer.code == ControllerResponse.MASTER_STILL_EXIST


def test_cleaning_a_living_broker_honours_its_id(controller: Controller) -> None:
    controller.join(1, 2)
    controller.alive(1, 2)
    controller.ask(ElectMaster(NAME, 1))
    controller.ask(CleanBrokerData(CLUSTER, NAME, (2,), True))
    assert list(controller.state.replicas) == [1]
    assert controller.state.master_id == 1


def test_cleaning_the_master_clears_it(controller: Controller) -> None:
    controller.join(1, 2)
    controller.ask(ElectMaster(NAME, 2))
    controller.ask(CleanBrokerData(CLUSTER, NAME, (2,)))
    state = controller.state
    assert (state.master_id, state.sync_state_set, list(state.replicas)) == (None, (), [1])
    assert (state.master_epoch, state.sync_state_epoch) == (2, 2)
    assert controller.ask(ElectMaster(NAME, 1)).answer.code == 0


def test_cleaning_the_last_replica_removes_the_set(controller: Controller) -> None:
    controller.join(1)
    controller.ask(CleanBrokerData(CLUSTER, NAME, (1,)))
    assert controller.machine.sets == {}


def test_a_large_offset_wins_where_java_overflows(controller: Controller) -> None:
    controller.join(1, 2, 3)
    controller.alive(1, 2, 3)
    controller.ask(ElectMaster(NAME, 1))
    controller.ask(AlterSyncStateSet(NAME, 1, 1, (1, 2, 3), 1))
    controller.alive(2, epoch=1, offset=1)
    controller.alive(3, epoch=1, offset=2**31 + 1)
    controller.machine.live.connection_lost(1)
    assert controller.ask(ElectMaster(NAME)).event == MasterElected(NAME, 3)


def test_an_election_outside_the_sync_state_set_is_marked_unclean(controller: Controller) -> None:
    controller.join(1, 2)
    controller.alive(1, 2)
    controller.ask(ElectMaster(NAME, 1))
    controller.machine.live.connection_lost(1)
    assert controller.ask(ElectMaster(NAME, 2)).answer.code == ControllerResponse.ELECT_MASTER_FAILED
    controller.unclean = True
    assert controller.ask(ElectMaster(NAME)).event == MasterElected(NAME, 2, unclean=True)


def test_register_hides_a_dead_master(controller: Controller) -> None:
    controller.join(1, 2)
    controller.ask(ElectMaster(NAME, 1))
    hidden = controller.ask(RegisterBroker(CLUSTER, NAME, 2, "10.0.0.2:1"))
    assert hidden.answer.ext == {"clusterName": CLUSTER, "brokerName": NAME}
    assert hidden.event is None


def test_only_the_current_connection_represents_a_broker(controller: Controller) -> None:
    controller.alive(1, connection=10)
    controller.alive(1, connection=11)
    live = controller.machine.live
    assert live.connection_lost(10) == []
    assert live.is_alive(CLUSTER, NAME, 1, now_ms=NOW_MS)
    assert live.connection_lost(11) == [BrokerId(CLUSTER, NAME, 1)]


def test_all_brokers_of_a_connection_are_reported(controller: Controller) -> None:
    controller.alive(1, 2, connection=10)
    assert controller.machine.live.connection_lost(10) == [BrokerId(CLUSTER, NAME, 1), BrokerId(CLUSTER, NAME, 2)]


def test_heartbeats_expire_after_their_timeout(controller: Controller) -> None:
    controller.alive(1)
    live = controller.machine.live
    assert live.expire(NOW_MS + 10_000) == []
    assert live.expire(NOW_MS + 10_001) == [(BrokerId(CLUSTER, NAME, 1), 1, NOW_MS)]
    assert len(live) == 0


def test_sets_with_a_dead_master_are_found(controller: Controller) -> None:
    controller.join(1, 2)
    controller.alive(1, 2)
    controller.ask(ElectMaster(NAME, 1))
    assert controller.machine.sets_with_dead_master(NOW_MS) == []
    controller.machine.live.connection_lost(1)
    assert controller.machine.sets_with_dead_master(NOW_MS) == [NAME]
    controller.machine.live.connection_lost(2)
    assert controller.machine.sets_with_dead_master(NOW_MS) == [], "there is no broker to elect"


def test_an_event_for_an_unknown_set_is_an_error() -> None:
    with pytest.raises(StateError, match="b-x"):
        apply(None, MasterElected("b-x", 1))


def test_state_survives_json() -> None:
    state = BrokerSet(cluster=CLUSTER, name=NAME, replicas={1: Replica("a", "a;1")}, retired=frozenset({2}))
    assert msgspec.json.decode(msgspec.json.encode(state), type=BrokerSet) == state
