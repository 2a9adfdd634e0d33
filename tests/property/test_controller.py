"""Random requests to the Controller's state machine beside a naive model, and its safety properties."""

from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from routebook.controller.liveness import BrokerId, Heartbeat
from routebook.controller.machine import Machine
from routebook.controller.requests import AlterSyncStateSet, ApplyBrokerId, CleanBrokerData, ElectMaster
from routebook.controller.state import BrokerSet, IdApplied, MasterElected, apply

SETS: Final = ("b-a", "b-b")
IDS: Final = st.integers(1, 5)

_steps = st.lists(
    st.one_of(
        st.tuples(st.just("apply"), st.sampled_from(SETS), IDS, st.integers(1, 3)),
        st.tuples(st.just("beat"), st.sampled_from(SETS), IDS, st.integers(0, 3), st.integers(0, 3)),
        st.tuples(st.just("close"), st.sampled_from(SETS), IDS),
        st.tuples(st.just("elect"), st.sampled_from(SETS), st.one_of(st.none(), st.just(-1), IDS), st.booleans()),
        st.tuples(st.just("alter"), st.sampled_from(SETS), st.frozensets(IDS, min_size=1), st.booleans()),
        st.tuples(st.just("clean"), st.sampled_from(SETS), st.frozensets(IDS), st.booleans()),
    ),
    max_size=60,
)


def _request(state: BrokerSet | None, step: tuple[Any, ...]) -> Any:
    kind, name, *rest = step
    match kind:
        case "apply":
            return ApplyBrokerId("C", name, rest[0], f"10.0.0.{rest[0]}:1;{rest[1]}")
        case "elect":
            return ElectMaster(name, rest[0], rest[1])
        case "alter":
            epoch = 0 if state is None else state.sync_state_epoch + (not rest[1])
            master_epoch = 0 if state is None else state.master_epoch
            master = None if state is None else state.master_id
            return AlterSyncStateSet(name, master, master_epoch, tuple(sorted(rest[0])), epoch)
        case "clean":
            return CleanBrokerData("C", name, tuple(sorted(rest[0])), rest[1])
        case _:
            raise AssertionError(kind)


@settings(max_examples=300, deadline=None)
@given(steps=_steps, unclean=st.booleans())
def test_safety(steps: list[tuple[Any, ...]], unclean: bool) -> None:
    machine = Machine()
    alive: dict[tuple[str, int], tuple[int, int]] = {}  # the naive model: who is alive, with epoch and offset
    masters: dict[tuple[str, int, int], int] = {}  # (set, its generation, epoch) -> master
    assigned: dict[tuple[str, int], set[int]] = {}
    generation = dict.fromkeys(SETS, 0)
    for step in steps:
        kind, name, *rest = step
        if kind == "beat":
            number, epoch, offset = rest
            beat = Heartbeat(broker=BrokerId("C", name, number), epoch=epoch, max_offset=offset)
            machine.live.heartbeat(beat, connection=SETS.index(name) * 10 + number, now_ms=0)
            alive[name, number] = max((epoch, offset), alive.get((name, number), (epoch, offset)))
            continue
        if kind == "close":
            machine.live.connection_lost(SETS.index(name) * 10 + rest[0])
            alive.pop((name, rest[0]), None)
            continue
        before = machine.sets.get(name)
        others = {other: machine.sets.get(other) for other in SETS if other != name}
        decision = machine.decide(_request(before, step), now_ms=0, allow_unclean=unclean)
        event = decision.event
        if event is None:
            assert machine.sets.get(name) == before
            continue
        assert apply(before, event) == machine.apply(event)
        after = machine.sets.get(name)
        assert {other: machine.sets.get(other) for other in others} == others, "sets are independent"
        if after is None:
            generation[name] += 1
            continue
        if before is not None:
            assert after.master_epoch >= before.master_epoch
            assert after.sync_state_epoch >= before.sync_state_epoch
        if isinstance(event, IdApplied):
            ids = assigned.setdefault((name, generation[name]), set())
            assert event.broker_id not in ids, "an id was assigned twice"
            ids.add(event.broker_id)
        if isinstance(event, MasterElected):
            assert before is not None
            key = (name, generation[name], after.master_epoch)
            assert masters.setdefault(key, event.broker_id) == event.broker_id, "two masters in one epoch"
            assert event.broker_id in before.replicas
            first = before.master_id is None and not before.sync_state_set
            assert first or unclean or event.broker_id in before.sync_state_set
            assert first or (name, event.broker_id) in alive, "a dead broker was elected"
            _check_best(before, event, step, alive, first=first)
        if after.master_id is not None:
            assert after.master_id in after.replicas
        assert set(after.sync_state_set) <= after.replicas.keys()


def _check_best(
    before: BrokerSet,
    event: MasterElected,
    step: tuple[Any, ...],
    alive: dict[tuple[str, int], tuple[int, int]],
    *,
    first: bool,
) -> None:
    """Without a designated broker the best live in-sync replica wins."""
    designated = step[0] == "elect" and step[3] and step[2] not in (None, -1)
    if first or designated:
        return
    in_sync = [number for number in before.sync_state_set if (before.name, number) in alive]
    pool = in_sync or [number for number in before.replicas if (before.name, number) in alive]
    assert alive[before.name, event.broker_id] == max(alive[before.name, number] for number in pool)
