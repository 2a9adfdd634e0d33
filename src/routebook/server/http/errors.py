"""HTTP errors: every failure is a JSON object that says what is wrong and what to do."""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi.datastructures import ResponseSpec

from routebook.server.observe.log import escape, get_log

_MAX_PATH_CHARS: Final = 200


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """The body of an error response. `code` is a fixed word where programs need to tell errors apart."""

    error: str
    hint: str
    code: str | None = None
    command: str | None = None  # a command that fixes it
    retry_after_s: int | None = None


class ApiError(Exception):
    """A request that fails with a problem."""

    def __init__(
        self,
        status: int,
        error: str,
        hint: str,
        *,
        code: str | None = None,
        command: str | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(error)
        self.status = status
        self.problem = Problem(error, hint, code, command, retry_after_s)


def error_specs(*statuses: int) -> dict[int, ResponseSpec]:
    """For OpenAPI: the error statuses of a path, with 400 for invalid parameters."""
    return {status: response_spec(Problem, HTTPStatus(status).phrase) for status in sorted({400, *statuses})}


def response_spec(kind: type, description: str, *, media_type: str = MediaType.JSON) -> ResponseSpec:
    """For OpenAPI: a response without generated examples, which would cost 15 MB of memory."""
    return ResponseSpec(kind, description=description, media_type=media_type, generate_examples=False)


def on_api_error(_request: Request[Any, Any, Any], error: ApiError) -> Response[Problem]:
    return _response(error.status, error.problem)


def on_http_exception(request: Request[Any, Any, Any], error: HTTPException) -> Response[Problem]:
    """Errors of the framework: unknown paths, wrong methods, invalid parameters."""
    status = error.status_code
    if isinstance(error, ValidationException):
        invalid = "; ".join(_parameter(item) for item in error.extra or ()) or error.detail
        problem = Problem(f"invalid request: {invalid}", "/schema lists the parameters")
    elif status == HTTPStatus.NOT_FOUND:
        path = escape(unquote(request.scope["path"]), max_chars=_MAX_PATH_CHARS)
        problem = Problem(f"{path} does not exist", "/schema lists the paths")
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        problem = Problem(f"{request.method} is not allowed here", "the Allow header lists the methods")
    else:
        problem = Problem(error.detail, "/schema describes the API")
    return _response(status, problem, error.headers)


def on_exception(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    """A bug: log it and answer without details."""
    if isinstance(error, RecursionError):
        return _response(400, Problem("the request is nested too deeply", "/schema describes the API"))
    get_log("http").unexpected("http request failed", error, path=request.scope["path"])
    return _response(500, Problem(f"internal error: {type(error).__name__}", "see the server's log"))


def _parameter(item: object) -> str:
    if isinstance(item, dict):
        return ": ".join(str(item[name]) for name in ("key", "message") if item.get(name))
    return str(item)


def _response(status: int, problem: Problem, headers: dict[str, str] | None = None) -> Response[Problem]:
    kept = {name: value for name, value in (headers or {}).items() if name.lower() == "allow"}
    if problem.retry_after_s is not None:
        kept["Retry-After"] = str(problem.retry_after_s)
    return Response(problem, status_code=status, media_type=MediaType.JSON, headers=kept)
