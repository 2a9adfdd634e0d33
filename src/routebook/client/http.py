"""A blocking HTTP client for a Routebook's API and event stream, built on the standard library.

Errors: HttpStatusError for a status other than 200, ConnectionFailed (and its subclasses) where there is no usable
response. Async callers run it on a thread.
"""

import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Final, TypeAlias, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from routebook.errors import (
    ConnectionFailed,
    NotANameServer,
    RoutebookError,
    TimedOut,
    Unreachable,
    Untrusted,
    UsageError,
)
from routebook.sse import MEDIA_TYPE, ServerSentEvent, SseReader

T = TypeVar("T")

DEFAULT_URL: Final = "http://127.0.0.1:8876"
MAX_SILENCE_S: Final = 45.0  # the server sends a keep-alive comment every 15 s
POSITION: Final = "position"
_MAX_BYTES: Final = 64 << 20
_MAX_ERROR_BYTES: Final = 64 << 10
_CHUNK_BYTES: Final = 1 << 20

Query: TypeAlias = Mapping[str, str | int | Sequence[str] | None]


class HttpStatusError(RoutebookError):
    """The server responded with a status other than 200 and a reason."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Problem(msgspec.Struct):
    """The body of an error response."""

    error: str
    hint: str = ""


class EventStream(SseReader):
    """The server-sent events of one connection. `last_id` is the id to resume after."""

    def __init__(self, response: HTTPResponse, sock: socket.socket, url: str, silence_s: float, last_id: str) -> None:
        super().__init__(last_id)
        self._response = response
        self._sock = sock
        self._url = url
        self._silence_s = silence_s

    def __iter__(self) -> Iterator[ServerSentEvent]:
        """Yield events until the server closes the connection. Raises ConnectionFailed where it breaks."""
        return (event for event in self.with_positions() if event.name != POSITION)

    def with_positions(self) -> Iterator[ServerSentEvent]:
        """Yield events, and an empty one named POSITION for each keep-alive: its id may have advanced."""
        while line := self._read_line():
            event = self.feed_line(line)
            if event is not None:
                yield event
            elif not line.rstrip(b"\r\n"):
                yield ServerSentEvent(self.last_id, POSITION, b"")

    def abort(self) -> None:
        """End the stream; may be called from another thread."""
        with suppress(OSError):
            socket.socket.shutdown(self._sock, socket.SHUT_RDWR)

    def _read_line(self) -> bytes:
        try:
            line = self._response.readline(_MAX_BYTES)
        except TimeoutError:
            raise TimedOut(self._url, f"sent nothing for {self._silence_s:g} s") from None
        except (OSError, ValueError, HTTPException) as error:
            raise Unreachable(self._url, f"lost the connection: {str(error) or type(error).__name__}") from None
        if len(line) == _MAX_BYTES:
            raise NotANameServer(self._url, f"sent a line of more than {_MAX_BYTES >> 20} MiB")
        return line


class HttpClient:
    """Requests to one server, each over its own connection."""

    def __init__(self, url: str, *, timeout_s: float = 10.0, headers: Mapping[str, str] | None = None) -> None:
        """`url` is `http://HOST:PORT`, `https://…`, or HOST:PORT; `headers` go with every request."""
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        try:
            port = parts.port
        except ValueError:
            port = 0
        if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or parts.query or parts.fragment:
            raise UsageError(f"{url}: not a server's address; write {DEFAULT_URL}")
        self.is_tls = parts.scheme == "https"
        self.host = parts.hostname
        self.headers = dict(headers or {})
        self._port = port
        self._prefix = parts.path.rstrip("/")
        self._timeout_s = timeout_s
        self.url = f"{parts.scheme}://{parts.netloc}{self._prefix}"

    def get(self, path: str, kind: type[T], query: Query | None = None) -> T:
        """GET a JSON document and decode it as `kind`."""
        with self._open(path, query or {}, {"accept": "application/json"}) as (response, _):
            try:
                body = response.read(_MAX_BYTES + 1)
            except (OSError, HTTPException) as error:
                raise self._failure(error) from None
        if len(body) > _MAX_BYTES:
            raise NotANameServer(self.url, f"sent more than {_MAX_BYTES >> 20} MiB")
        try:
            return msgspec.json.decode(body, type=kind)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise NotANameServer(self.url, f"sent an unexpected response: {error}") from None

    def download(self, path: str, file: Path, *, size: int) -> None:
        """GET a file of a known size. Raises ConnectionFailed if it is cut off."""
        with self._open(path, {}, {}) as (response, _), file.open("wb") as target:
            try:
                while chunk := response.read(_CHUNK_BYTES):
                    target.write(chunk)
            except (OSError, HTTPException) as error:
                raise self._failure(error) from None
            if target.tell() != size:
                raise Unreachable(self.url, f"sent {target.tell()} of {size} bytes of {path}")

    @contextmanager
    def events(
        self, query: Query | None = None, *, last_id: str = "", silence_s: float = MAX_SILENCE_S
    ) -> Iterator[EventStream]:
        """Open the event stream, after the record `last_id` if given. `silence_s` limits each read."""
        headers = {"accept": MEDIA_TYPE} | ({"last-event-id": last_id} if last_id else {})
        with self._open("/v1/events", query or {}, headers) as (response, sock):
            sock.settimeout(silence_s)
            yield EventStream(response, sock, self.url, silence_s, last_id)

    @contextmanager
    def _open(
        self, path: str, query: Query, headers: Mapping[str, str]
    ) -> Iterator[tuple[HTTPResponse, socket.socket]]:
        given = {name: value for name, value in query.items() if value is not None}
        target = f"{self._prefix}{path}{'?' + urlencode(given, doseq=True) if given else ''}"
        kind: type[HTTPConnection] = HTTPSConnection if self.is_tls else HTTPConnection
        with closing(kind(self.host, self._port, timeout=self._timeout_s)) as connection:
            try:
                connection.request("GET", target, headers={"connection": "close", **self.headers, **headers})
                sock = connection.sock  # the response keeps it open; the connection forgets it
                response = connection.getresponse()
                if response.status != 200:
                    raise self._status_error(response)
            except (OSError, HTTPException) as error:
                raise self._failure(error) from None
            with response:
                yield response, sock

    def _status_error(self, response: HTTPResponse) -> RoutebookError:
        try:
            problem = msgspec.json.decode(response.read(_MAX_ERROR_BYTES), type=_Problem)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            hint = "is this a Routebook?"
            if response.status == HTTPStatus.BAD_REQUEST:
                hint = "this may be the NameServer port; the HTTP port is 8876 by default"
            return NotANameServer(self.url, f"responded {response.status} {response.reason}; {hint}")
        hint = f" ({problem.hint})" if problem.hint else ""
        return HttpStatusError(response.status, f"{self.url}: {problem.error}{hint}")

    def _failure(self, error: Exception) -> ConnectionFailed:
        if isinstance(error, TimeoutError):
            return TimedOut(self.url, f"no response within {self._timeout_s:g} s")
        if isinstance(error, ssl.SSLError):
            return Untrusted(self.url, f"TLS failed: {error.reason or error}")
        if isinstance(error, HTTPException):
            return NotANameServer(self.url, f"does not speak HTTP: {str(error) or type(error).__name__}")
        reason = error.strerror if isinstance(error, OSError) else None
        return Unreachable(self.url, f"cannot be reached: {reason or error}")


def basic_authorization(access_key: str, secret_key: str) -> dict[str, str]:
    """The header that sends both keys; use it over TLS or on this machine only."""
    return {"authorization": f"Basic {b64encode(f'{access_key}:{secret_key}'.encode()).decode()}"}


def path_segment(name: str) -> str:
    """Percent-encode a name for use as one segment of a path."""
    return quote(name.encode("utf-8", "surrogatepass"), safe="")
