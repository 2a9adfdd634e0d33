"""The states of an accepted connection and the table of transitions between them.

    READING ──PAUSE──► ANSWERING ──CONTINUE──► READING        answers are written faster than the peer reads them
    READING ──DEFERRED_LIMIT──► DEFERRING ──DEFERRED_ANSWER──► READING        answers wait for a disk or a server
    each of them ──INPUT_ENDED──► its DRAINING form ──CLOSE──► CLOSING ──LOST──► CLOSED

A DRAINING form answers what has arrived and expects no further request. A pair that is missing from `TRANSITIONS` is
impossible: `next_state` raises KeyError.
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


_S, _E = State, Event

TRANSITIONS: Final[dict[State, dict[Event, State]]] = {
    _S.READING: {
        _E.PAUSE: _S.ANSWERING,
        _E.DEFERRED_LIMIT: _S.DEFERRING,
        _E.DEFERRED_ANSWER: _S.READING,
        _E.INPUT_ENDED: _S.DRAINING,
        _E.CLOSE: _S.CLOSING,
        _E.LOST: _S.CLOSED,
        _E.REFUSE: _S.CLOSED,
    },
    _S.ANSWERING: {
        _E.PAUSE: _S.ANSWERING,
        _E.CONTINUE: _S.READING,
        _E.DEFERRED_LIMIT: _S.ANSWERING,
        _E.DEFERRED_ANSWER: _S.ANSWERING,
        _E.INPUT_ENDED: _S.DRAINING_ANSWERING,
        _E.CLOSE: _S.CLOSING,
        _E.LOST: _S.CLOSED,
    },
    _S.DEFERRING: {
        _E.PAUSE: _S.ANSWERING,
        _E.DEFERRED_ANSWER: _S.READING,
        _E.INPUT_ENDED: _S.DRAINING_DEFERRING,
        _E.CLOSE: _S.CLOSING,
        _E.LOST: _S.CLOSED,
    },
    _S.DRAINING: {
        _E.PAUSE: _S.DRAINING_ANSWERING,
        _E.DEFERRED_LIMIT: _S.DRAINING_DEFERRING,
        _E.DEFERRED_ANSWER: _S.DRAINING,
        _E.INPUT_ENDED: _S.DRAINING,
        _E.CLOSE: _S.CLOSING,
        _E.LOST: _S.CLOSED,
    },
    _S.DRAINING_ANSWERING: {
        _E.PAUSE: _S.DRAINING_ANSWERING,
        _E.CONTINUE: _S.DRAINING,
        _E.DEFERRED_LIMIT: _S.DRAINING_ANSWERING,
        _E.DEFERRED_ANSWER: _S.DRAINING_ANSWERING,
        _E.INPUT_ENDED: _S.DRAINING_ANSWERING,
        _E.CLOSE: _S.CLOSING,
        _E.LOST: _S.CLOSED,
    },
    _S.DRAINING_DEFERRING: {
        _E.PAUSE: _S.DRAINING_ANSWERING,
        _E.DEFERRED_ANSWER: _S.DRAINING,
        _E.INPUT_ENDED: _S.DRAINING_DEFERRING,
        _E.CLOSE: _S.CLOSING,
        _E.LOST: _S.CLOSED,
    },
    _S.CLOSING: {
        _E.PAUSE: _S.CLOSING,
        _E.CONTINUE: _S.CLOSING,
        _E.DEFERRED_LIMIT: _S.CLOSING,
        _E.DEFERRED_ANSWER: _S.CLOSING,
        _E.INPUT_ENDED: _S.CLOSING,
        _E.CLOSE: _S.CLOSING,
        _E.LOST: _S.CLOSED,
    },
    _S.CLOSED: {_E.DEFERRED_ANSWER: _S.CLOSED},
}

SERVES: Final = (State.READING, State.DRAINING)
"""Requests that have arrived are dispatched."""

PAUSED: Final = (State.ANSWERING, State.DRAINING_ANSWERING)
"""`CONTINUE` resumes these."""


def next_state(state: State, event: Event) -> State:
    """Return the state after `event`. Raises KeyError for an impossible pair."""
    return TRANSITIONS[state][event]
