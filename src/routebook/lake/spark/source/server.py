"""A live NameServer as a data source: reads a range of records from `/v1/events`. Runs on Spark workers."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from routebook.client.http import EventStream, HttpClient
from routebook.errors import ConnectionFailed, NotANameServer, RoutebookError

_TIMEOUT_S: Final = 30.0
_MAX_SILENCE_S: Final = 60.0
_MAX_FAILURES: Final = 5  # in a row without a new record


class SourceError(RoutebookError):
    """The server cannot be read as a source."""


class Span(NamedTuple):
    """Records of one server with `after < seq <= upto`."""

    server: str
    token: str | None
    after: int
    upto: int


def describe(server: str, token: str | None) -> tuple[str, int]:
    """Return the NameServer's id and its newest sequence number."""
    found = _client(server, token).get("/v1/server", dict[str, Any])
    last = found.get("lastSeq", found.get("last_seq"))
    if last is None:
        raise SourceError(f"{server}: this NameServer keeps no journal, so it cannot be read as a source")
    return str(found["ns"]), int(last)


def lines(span: Span) -> Iterator[tuple[bytes, str]]:
    """Yield each record's line and its location. A broken connection resumes after the last record."""
    client = _client(span.server, span.token)
    after, failures = span.after, 0
    while after < span.upto:
        before, problem = after, "the server closed the stream"
        try:
            with client.events(last_id=str(after), silence_s=_MAX_SILENCE_S) as stream:
                for seq, line in _records(stream, span.server, after):
                    if line is not None and after < seq <= span.upto:
                        yield line, f"{span.server}/v1/events:{seq}"
                    after = max(after, seq)
                    if after >= span.upto:
                        return
        except NotANameServer:
            raise
        except ConnectionFailed as error:
            problem = error.why
        failures = failures + 1 if after == before else 0
        if failures >= _MAX_FAILURES:
            raise SourceError(f"{span.server}/v1/events: no record after {after} in {failures} attempts: {problem}")


def _records(stream: EventStream, server: str, after: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield sequence numbers as they advance, with a line where there is a record."""
    for event in stream.with_positions():
        if event.name == "reset":
            raise SourceError(
                f"{server}: record {after} does not exist: the home folder was emptied, or this is another "
                "NameServer; start with a new checkpoint"
            )
        if event.name in {"dropped", "stopping"}:
            return
        if event.id.isdecimal():
            yield int(event.id), event.data if event.name == "message" else None


def _client(server: str, token: str | None) -> HttpClient:
    headers = None if token is None else {"authorization": f"Bearer {token}"}
    return HttpClient(server, timeout_s=_TIMEOUT_S, headers=headers)
