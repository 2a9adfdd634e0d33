"""The states of an accepted connection and the table of transitions between them.

    READING ──PAUSE──► ANSWERING ──CONTINUE──► READING        answers are written faster than the peer reads them
    READING ──DEFERRED_LIMIT──► DEFERRING ──DEFERRED_ANSWER──► READING        answers wait for a disk or a server
    each of them ──INPUT_ENDED──► its DRAINING form ──CLOSE──► CLOSING ──LOST──► CLOSED

A DRAINING form answers what has arrived and expects no further request.
"""

from enum import IntEnum
from typing import Final


class State(IntEnum):
    """What a connection does with bytes that arrive, and whether it reads from its socket."""

    READING = 0  # requests are answered as they arrive
    ANSWERING = 1  # reading is paused: the peer does not read its answers, or other connections have their turn
    DEFERRING = 2  # reading is paused: the maximum of deferred answers is outstanding
    DRAINING = 3  # like READING, until everything that has arrived is answered
    DRAINING_ANSWERING = 4
    DRAINING_DEFERRING = 5
    CLOSING = 6  # bytes that arrive are dropped
    CLOSED = 7  # the transport is gone, or the connection was refused


class Event(IntEnum):
    """What changes the state of a connection."""

    PAUSE = 0  # the write buffer exceeds the high-water mark, or the turn of this connection is over
    CONTINUE = 1  # the write buffer is below the low-water mark, or the next turn starts
    DEFERRED_LIMIT = 2  # the maximum of deferred answers is outstanding
    DEFERRED_ANSWER = 3  # one of them is complete
    INPUT_ENDED = 4  # the server stops, or the peer sends no more
    CLOSE = 5  # this side closes the connection
    LOST = 6  # asyncio reports that the transport is closed
    REFUSE = 7  # a new connection exceeds a limit


_R, _A, _D = State.READING, State.ANSWERING, State.DEFERRING
_DR, _DA, _DD = State.DRAINING, State.DRAINING_ANSWERING, State.DRAINING_DEFERRING
_CL, _X = State.CLOSING, State.CLOSED
_NO: Final = None  # impossible

# fmt: off
TRANSITIONS: Final[dict[State, tuple[State | None, ...]]] = {
    #      PAUSE CONTINUE DEFERRED_LIMIT DEFERRED_ANSWER INPUT_ENDED CLOSE LOST REFUSE
    _R:   (_A,   _NO,     _D,            _R,             _DR,        _CL,  _X,  _X),
    _A:   (_A,   _R,      _A,            _A,             _DA,        _CL,  _X,  _NO),
    _D:   (_A,   _NO,     _NO,           _R,             _DD,        _CL,  _X,  _NO),
    _DR:  (_DA,  _NO,     _DD,           _DR,            _DR,        _CL,  _X,  _NO),
    _DA:  (_DA,  _DR,     _DA,           _DA,            _DA,        _CL,  _X,  _NO),
    _DD:  (_DA,  _NO,     _NO,           _DR,            _DD,        _CL,  _X,  _NO),
    _CL:  (_CL,  _CL,     _CL,           _CL,            _CL,        _CL,  _X,  _NO),
    _X:   (_NO,  _NO,     _NO,           _X,             _NO,        _NO,  _NO, _NO),
}
# fmt: on

SERVES: Final = (State.READING, State.DRAINING)
"""Requests that have arrived are dispatched."""

PAUSED: Final = (State.ANSWERING, State.DRAINING_ANSWERING)
"""`CONTINUE` resumes these."""


def next_state(state: State, event: Event) -> State:
    """Return the state after `event`. Raises ValueError for an impossible pair."""
    after = TRANSITIONS[state][event]
    if after is None:
        raise ValueError(f"a connection that is {state.name} cannot get {event.name}")
    return after
