"""The body of 1006, as a client reads it."""

from routebook.controller.decide import sync_state_data
from routebook.controller.liveness import LiveTable, LiveView
from routebook.controller.machine import reply_of
from routebook.controller.replicas_info import decode_replicas_info
from routebook.controller.state import BrokerSet, Replica


def test_it_is_the_inverse_of_the_answer() -> None:
    state = BrokerSet(
        cluster="c",
        name="a",
        replicas={1: Replica("h1:1", "h1:1;7"), 2: Replica("h2:1", "h2:1;7")},
        master_id=2,
        master_epoch=4,
        sync_state_set=(2,),
        sync_state_epoch=6,
    )
    answer = sync_state_data({"a": state}, ["a"], LiveView(LiveTable(), 0)).answer
    found = decode_replicas_info(reply_of(answer).body)
    assert found["a"].state("a", "c", check_code="7") == state
    assert [row.alive for row in found["a"].replicas] == [False, False]
    assert decode_replicas_info(None) == {}
