"""Everything that goes wrong is answered as JSON: what is wrong, and what to do."""

from http import HTTPStatus
from typing import Any, Final

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi.datastructures import ResponseSpec

from routebook.server.http.api.names import shown
from routebook.server.observe.log import get_log

_HINTS: Final = {
    404: "/schema lists what there is",
    405: "this can only be read, with GET",
}


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is wrong, and what to do about it; where programs have to tell one from another, `code` is a fixed word."""

    error: str
    hint: str
    code: str | None = None
    command: str | None = None  # what to type, where that helps
    retry_after_s: int | None = None


class Refusal(Exception):
    """A request that is answered with a problem."""

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


def documented(*statuses: int) -> dict[int, ResponseSpec]:
    """For OpenAPI: the problems that a path may answer with, beside a parameter that cannot be used."""
    return {status: answer(Problem, HTTPStatus(status).phrase) for status in sorted({400, *statuses})}


def answer(kind: type, description: str, *, media_type: str = MediaType.JSON) -> ResponseSpec:
    """For OpenAPI: an answer without made-up examples, which would cost 15 MB to make up."""
    return ResponseSpec(kind, description=description, media_type=media_type, generate_examples=False)


def on_refusal(_request: Request[Any, Any, Any], refusal: Refusal) -> Response[Problem]:
    return _answer(refusal.status, refusal.problem)


def on_http_exception(request: Request[Any, Any, Any], error: HTTPException) -> Response[Problem]:
    """What the framework refuses: unknown paths, other methods, parameters that do not parse."""
    status = error.status_code
    if isinstance(error, ValidationException):
        wrong = "; ".join(_parameter(item) for item in error.extra or ()) or error.detail
        problem = Problem(f"cannot be used: {wrong}", "/schema says which parameters there are")
    elif status == HTTPStatus.NOT_FOUND:
        problem = Problem(f"there is no {shown(request.scope['path'])}", _HINTS[404])
    elif status == HTTPStatus.METHOD_NOT_ALLOWED:
        problem = Problem(f"{request.method} is not possible here", _HINTS[405])
    else:
        problem = Problem(error.detail, "/schema says what can be asked")
    return _answer(status, problem, error.headers)


def on_exception(request: Request[Any, Any, Any], error: Exception) -> Response[Problem]:
    """A bug: the log has it."""
    get_log("http").unexpected("http request failed", error, path=request.scope["path"])
    return _answer(500, Problem(f"internal error: {type(error).__name__}", "the server's log has more"))


def _parameter(item: object) -> str:
    if isinstance(item, dict):
        return ": ".join(str(item[name]) for name in ("key", "message") if item.get(name))
    return str(item)


def _answer(status: int, problem: Problem, headers: dict[str, str] | None = None) -> Response[Problem]:
    kept = {name: value for name, value in (headers or {}).items() if name.lower() == "allow"}
    if problem.retry_after_s is not None:
        kept["Retry-After"] = str(problem.retry_after_s)
    return Response(problem, status_code=status, media_type=MediaType.JSON, headers=kept)
