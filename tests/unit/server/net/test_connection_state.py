"""Every state of a connection with every event: the next state, or impossible."""

from itertools import product

import pytest

from routebook.server.net.connection_state import PAUSED, SERVES, TRANSITIONS, Event, State, next_state

TABLE = """
                   PAUSE  CONTINUE  LIMIT  ANSWER  ENDED  CLOSE  LOST  REFUSE
READING              A       -        D      R      dR      C     X      X
ANSWERING            A       R        A      A      dA      C     X      -
DEFERRING            A       -        -      R      dD      C     X      -
DRAINING             dA      -        dD     dR     dR      C     X      -
DRAINING_ANSWERING   dA      dR       dA     dA     dA      C     X      -
DRAINING_DEFERRING   dA      -        -      dR     dD      C     X      -
CLOSING              C       C        C      C      C       C     X      -
CLOSED               -       -        -      X      -       -     -      -
"""
SHORT = {
    "R": State.READING,
    "A": State.ANSWERING,
    "D": State.DEFERRING,
    "dR": State.DRAINING,
    "dA": State.DRAINING_ANSWERING,
    "dD": State.DRAINING_DEFERRING,
    "C": State.CLOSING,
    "X": State.CLOSED,
    "-": None,
}
EXPECTED = {
    (State[line.split()[0]], event): SHORT[cell]
    for line in TABLE.strip().splitlines()[1:]
    for event, cell in zip(Event, line.split()[1:], strict=True)
}


def test_the_expected_table_is_complete() -> None:
    assert set(EXPECTED) == set(product(State, Event))


@pytest.mark.parametrize(("state", "event"), list(product(State, Event)), ids=lambda item: item.name)
def test_transition(state: State, event: Event) -> None:
    expected = EXPECTED[state, event]
    if expected is None:
        with pytest.raises(ValueError, match=f"{state.name} cannot get {event.name}"):
            next_state(state, event)
    else:
        assert next_state(state, event) is expected


def test_every_state_can_be_reached_and_ends_in_closed() -> None:
    reached = {State.READING}
    while more := {after for state in reached for after in TRANSITIONS[state] if after is not None} - reached:
        reached |= more
    assert reached == set(State)
    assert all(next_state(state, Event.LOST) is State.CLOSED for state in State if state is not State.CLOSED)


def test_a_draining_connection_never_returns_to_reading() -> None:
    draining = {state for state in State if state.name.startswith("DRAINING")}
    for state in draining:
        assert set(TRANSITIONS[state]) <= draining | {State.CLOSING, State.CLOSED, None}


def test_states_are_ordered_so_that_comparisons_express_progress() -> None:
    """`Connection` compares: below DRAINING it can still be drained, from CLOSING on nothing is answered."""
    assert [state for state in State if state < State.DRAINING] == [State.READING, State.ANSWERING, State.DEFERRING]
    assert [state for state in State if state >= State.CLOSING] == [State.CLOSING, State.CLOSED]
    assert set(SERVES) | set(PAUSED) | {State.DEFERRING, State.DRAINING_DEFERRING} == {
        state for state in State if state < State.CLOSING
    }
