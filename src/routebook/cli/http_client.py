"""A server's HTTP port as commands ask it: plain GET with the standard library, errors in one line."""

import os
import ssl
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Annotated, Final, TypeAlias, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from routebook.cli.environment import ACCESS_KEY, SECRET_KEY
from routebook.cli.parameters import Option
from routebook.errors import NotANameServer, RoutebookError, TimedOut, Unreachable, Untrusted, UsageError

T = TypeVar("T")

DEFAULT_URL: Final = "http://127.0.0.1:8876"
_MAX_BYTES: Final = 64 << 20
_THIS_MACHINE: Final = ("127.0.0.1", "::1", "localhost")

Http: TypeAlias = Annotated[
    str | None, Option(("--http",), f"The HTTP port of a running server [{DEFAULT_URL}].", "URL")
]


class Refused(RoutebookError):
    """The server answers, and says no."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Problem(msgspec.Struct):
    """How the API refuses."""

    error: str
    hint: str = ""


class Web:
    """One server. Raises ConnectionFailed where there is no answer, Refused where the answer is no."""

    def __init__(self, url: str, *, timeout_s: float = 10.0) -> None:
        """`http://HOST:PORT`, `https://…`, or HOST:PORT alone."""
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        try:
            port = parts.port
        except ValueError:
            port = 0
        if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or parts.query or parts.fragment:
            raise UsageError(f"--http {url}: write {DEFAULT_URL}")
        self._tls = parts.scheme == "https"
        self._host, self._port = parts.hostname, port
        self._prefix = parts.path.rstrip("/")
        self._timeout_s = timeout_s
        self.url = f"{parts.scheme}://{parts.netloc}{self._prefix}"

    def get(self, path: str, kind: type[T], **values: object) -> T:
        """What the API answers."""
        query = {name: str(value) for name, value in values.items() if value is not None}
        with self.open(path, query) as response:
            try:
                return msgspec.json.decode(response.read(_MAX_BYTES), type=kind)
            except msgspec.DecodeError as problem:
                raise NotANameServer(self.url, f"answers what no Routebook answers: {problem}") from None
            except (OSError, HTTPException) as problem:
                raise self._failed(problem) from None

    @contextmanager
    def open(
        self,
        path: str,
        query: Mapping[str, str | Sequence[str]],
        *,
        headers: Mapping[str, str] | None = None,
        silent_s: float | None = None,
    ) -> Iterator[HTTPResponse]:
        """The answer, to be read; of a stream, `silent_s` is how long a read may last."""
        kind: type[HTTPConnection] = HTTPSConnection if self._tls else HTTPConnection
        headers = {"connection": "close", **self._authorization(), **(headers or {})}
        target = f"{self._prefix}{path}{'?' + urlencode(query, doseq=True) if query else ''}"
        with closing(kind(self._host, self._port, timeout=self._timeout_s)) as connection:
            try:
                connection.request("GET", target, headers=headers)
                sock = connection.sock
                response = connection.getresponse()
                if response.status != 200:
                    raise self._refused(response)
            except (OSError, HTTPException) as problem:
                raise self._failed(problem) from None
            if silent_s is not None:
                sock.settimeout(silent_s)
            with response:
                yield response

    def _authorization(self) -> dict[str, str]:
        """The secret itself goes over the wire here, so it does not go far unless by TLS."""
        access_key, secret_key = os.environ.get(ACCESS_KEY), os.environ.get(SECRET_KEY)
        if not access_key or not secret_key or not (self._tls or self._host in _THIS_MACHINE):
            return {}
        return {"authorization": f"Basic {b64encode(f'{access_key}:{secret_key}'.encode()).decode()}"}

    def _refused(self, response: HTTPResponse) -> RoutebookError:
        body = response.read(65536)
        try:
            problem = msgspec.json.decode(body, type=_Problem)
        except msgspec.DecodeError:
            return NotANameServer(self.url, f"answers {response.status} {response.reason}, as no Routebook does")
        hint = f" ({problem.hint})" if problem.hint else ""
        return Refused(response.status, f"{self.url}: {problem.error}{hint}")

    def _failed(self, problem: Exception) -> RoutebookError:
        if isinstance(problem, TimeoutError):
            return TimedOut(self.url, f"no answer within {self._timeout_s:g} s")
        if isinstance(problem, ssl.SSLError):
            return Untrusted(self.url, f"TLS failed: {problem.reason or problem}")
        if isinstance(problem, HTTPException):
            return NotANameServer(self.url, f"does not speak HTTP: {str(problem) or type(problem).__name__}")
        why = problem.strerror if isinstance(problem, OSError) else None
        return Unreachable(self.url, f"cannot be reached: {why or problem}")


def in_path(name: str) -> str:
    """A name as one part of a path."""
    return quote(name.encode("utf-8", "surrogatepass"), safe="")
