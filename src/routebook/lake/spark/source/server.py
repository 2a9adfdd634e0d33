"""A live NameServer as a source: its `/v1/events`, from one number to another. Workers run it."""

import http.client
import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from routebook.errors import RoutebookError, UsageError

_TIMEOUT_S: Final = 30.0
_HEARTBEATS_S: Final = 60.0  # the server gives a sign of life every 15 s
_MOST_TIMES: Final = 5


class SourceError(RoutebookError):
    """The server does not answer as a source must."""


class Span(NamedTuple):
    """Records of one server with `after < seq <= upto`."""

    server: str
    token: str | None
    after: int
    upto: int


def describe(server: str, token: str | None) -> tuple[str, int]:
    """Who it is, and its newest number."""
    connection = _connect(server, _TIMEOUT_S)
    try:
        connection.request("GET", "/v1/server", headers=_headers(token))
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise SourceError(f"{server}: {str(error) or type(error).__name__}") from None
    finally:
        connection.close()
    if answer.status != 200:
        raise SourceError(f"{server}/v1/server: HTTP {answer.status}: {_why(body)}")
    told: dict[str, Any] = json.loads(body)
    last = told.get("lastSeq", told.get("last_seq"))
    if last is None:
        raise SourceError(f"{server}: this NameServer keeps no journal, so it cannot be followed")
    return str(told["ns"]), int(last)


def lines(span: Span) -> Iterator[tuple[bytes, str]]:
    """Each record's line with where it comes from. A connection that breaks is taken up again where it broke."""
    after = span.after
    failures = 0
    while after < span.upto:
        before = after
        try:
            for seq, line in _events(span, after):
                if line is not None and after < seq <= span.upto:
                    yield line, f"{span.server}/v1/events:{seq}"
                after = max(after, seq)
                if after >= span.upto:
                    return
            failures = failures + 1 if after == before else 0
        except (OSError, http.client.HTTPException) as error:
            failures = failures + 1 if after == before else 1
            if failures >= _MOST_TIMES:
                raise SourceError(f"{span.server}/v1/events: {str(error) or type(error).__name__}") from None
        if failures >= _MOST_TIMES:
            raise SourceError(f"{span.server}/v1/events: the stream ends after {after} again and again")


def _events(span: Span, after: int) -> Iterator[tuple[int, bytes | None]]:
    """Numbers as they come; with a line where it is a record."""
    connection = _connect(span.server, _HEARTBEATS_S)
    try:
        headers = {**_headers(span.token), "Last-Event-ID": str(after), "Accept": "text/event-stream"}
        connection.request("GET", "/v1/events", headers=headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise SourceError(f"{span.server}/v1/events: HTTP {answer.status}: {_why(answer.read())}")
        number, name, data = 0, b"", b""
        while line := answer.readline():
            line = line.rstrip(b"\r\n")
            if line:
                field, _, value = line.partition(b":")
                value = value.removeprefix(b" ")
                if field == b"id":
                    number = int(value)
                elif field == b"event":
                    name = value
                elif field == b"data":
                    data = value
                continue
            if name == b"reset":
                raise SourceError(
                    f"{span.server}: it has never handed out number {after}: its home was emptied, or it is another "
                    "NameServer; begin again with a new checkpoint"
                )
            if name in {b"dropped", b"stopping"}:
                return
            if number:
                yield number, data if data and not name else None
            name, data = b"", b""
    finally:
        connection.close()


def _connect(server: str, timeout_s: float) -> http.client.HTTPConnection:
    parts = urlsplit(server if "//" in server else f"http://{server}")
    if parts.hostname is None or parts.scheme not in {"http", "https"}:
        raise UsageError(f"{server}: not a server's address; write http://127.0.0.1:8876")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.hostname, parts.port, timeout=timeout_s)


def _headers(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def _why(body: bytes) -> str:
    return " ".join(body[:300].decode(errors="replace").split())
