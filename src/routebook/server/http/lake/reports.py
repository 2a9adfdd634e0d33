"""`/v1/reports`: what the lake tells, for those who look back further than the journal."""

from pathlib import Path
from typing import Annotated, Final

from litestar import MediaType, Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter, SkipValidation

from routebook.lake.status import State
from routebook.server.http.api.dependencies import Context
from routebook.server.http.api.names import from_path
from routebook.server.http.api.tables import InPath
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Refusal, answer, documented
from routebook.server.http.lake.messages import Options, Question, ReportsAnswer
from routebook.server.http.lake.reader import LakeReader
from routebook.server.state.lake_status import following

Reader = NamedDependency[SkipValidation[LakeReader]]

_STATUSES = (404, 409, 500, 503)
_SOON_S: Final = 5  # a first build takes a minute or two


@get(
    "/v1/reports",
    summary="Which reports the lake has",
    responses={200: answer(ReportsAnswer, "The build they are of, and their names"), **documented(*_STATUSES)},
)
async def reports(context: Context, lake: Reader) -> Response[bytes]:
    """Where there is none: 404 with the command that makes one, or 503 while `routebook up` makes it."""
    return _json(await _ask(context, lake, Question(lake=_lake(context))))


@get(
    "/v1/reports/{name:str}",
    summary="One report",
    responses={200: answer(dict, "docs/lake.md says what each holds"), **documented(*_STATUSES)},
)
async def report(
    context: Context,
    lake: Reader,
    name: InPath,
    days: Annotated[int, QueryParameter(ge=1, le=3660, description="how far back")] = 30,
    zone: Annotated[str, QueryParameter(max_length=64, description="the time zone of days")] = "UTC",
    ns: Annotated[str | None, QueryParameter(description="of this NameServer only")] = None,
    cluster: Annotated[str | None, QueryParameter(description="of this cluster only")] = None,
    limit: Annotated[int | None, QueryParameter(ge=1, le=10_000, description="how many rows at most")] = None,
) -> Response[bytes]:
    """Reports by name, of the last days that the lake has."""
    options = Options(days=days, zone=zone, ns=ns, cluster=cluster, limit=limit)
    return _json(await _ask(context, lake, Question(lake=_lake(context), report=from_path(name), options=options)))


async def _ask(context: HttpContext, lake: LakeReader, question: Question) -> bytes:
    try:
        return await lake.ask(question)
    except Refusal as refusal:
        if refusal.problem.code != "no-lake" or context.home is None:
            raise
        raise _no_lake(context.home) from None


def _no_lake(home: Path) -> Refusal:
    """Why there is none: nobody makes it, it is on its way, or it failed."""
    lake = home / "lake"
    status = following(lake)
    if status is None or status.state is State.STOPPED:
        command = f"routebook lake build --journal {home / 'journal'} --lake {lake}"
        return Refusal(404, "there is no lake yet", f"make one: {command}", code="no-lake", command=command)
    if status.state is State.FAILED:
        why, then = f"the lake could not be made: {status.says}", "the log tells when it is tried again"
        return Refusal(503, why, then, code="lake-failed")
    says = status.says or "it begins"
    return Refusal(503, "the first lake is being made", says, code="lake-building", retry_after_s=_SOON_S)


def _lake(context: HttpContext) -> str:
    if context.home is None:
        raise Refusal(404, "this server has no home, and so no lake", "start it with --home", code="no-lake")
    return str(context.home / "lake")


def _json(body: bytes) -> Response[bytes]:
    return Response(body, media_type=MediaType.JSON)
