"""Shared parts of commands about the past: read a home's history, and state how certain an answer is."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from routebook.cli.output import print_error
from routebook.errors import RoutebookError, UsageError
from routebook.history.query.answers import Cause, Certainty
from routebook.history.query.history import History
from routebook.times import format_time

T = TypeVar("T")

_MAX_HOLES: Final = 3


def check_source(home: str | None, http: str | None, limit: int) -> None:
    """Check the options that most of these commands have. Raises UsageError."""
    if home is not None and http is not None:
        raise UsageError("--home and --http cannot be combined")
    if not 1 <= limit <= 1000:
        raise UsageError(f"--limit {limit}: must be from 1 to 1000")


def running_server(home: str | None, http: str | None) -> str | None:
    """The URL to ask: `http`, else the server on this machine if it responds and no home is chosen, else None."""
    if http is not None or home is not None or os.environ.get("ROUTEBOOK_HOME"):
        return http
    from routebook.cli.http import open_http
    from routebook.client.http import DEFAULT_URL
    from routebook.server.http.views.answers import AliveAnswer

    try:
        open_http(DEFAULT_URL).get("/healthz", AliveAnswer)
    except RoutebookError:
        return None
    return DEFAULT_URL


def read_home(home: str | None, read: Callable[[History], T]) -> T:
    """Query the history of a home folder, running or not. Raises HistoryError."""
    from routebook.history.query.offline import open_offline
    from routebook.server.state.home import default_home

    path = default_home(os.environ) if home is None else Path(home).expanduser()
    with open_offline(path) as past:
        return read(past)


def cause_text(cause: Cause) -> str:
    """The kind of an event, why, and by whom."""
    why = f" ({cause.why})" if cause.why else ""
    by = f" by {cause.who or cause.peer}" if cause.who or cause.peer else ""
    return f"{cause.kind.replace('_', ' ')}{why}{by}"


def print_gaps(certainty: Certainty, at_ms: int | None) -> None:
    """Print what may be missing from an answer, on stderr."""
    extent = certainty.extent
    if at_ms is not None and not certainty.observed:
        if extent is not None and at_ms > extent.to_ms:
            print_error(f"the journal ends at {format_time(extent.to_ms)}: this is the last recorded state")
        else:
            print_error("the NameServer was down at that time: this is the last state before")
    for lost in certainty.missing[:_MAX_HOLES]:
        print_error(f"events may be missing: records {lost.first_seq} to {lost.last_seq}, {lost.why}")
    if certainty.events_may_be_missing and not certainty.missing:
        print_error("events may be missing: the index was built after the start of the journal was deleted")


def unknown_text(at_ms: int, certainty: Certainty | None) -> str:
    """Why nothing is known about a time."""
    extent = None if certainty is None else certainty.extent
    kept = "the journal is empty" if extent is None else f"the first record is of {format_time(extent.from_ms)}"
    return f"nothing is recorded about {format_time(at_ms)}: {kept}"
