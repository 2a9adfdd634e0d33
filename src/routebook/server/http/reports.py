"""`/v1/reports`: what the lake tells, for those who look back further than the journal."""

from typing import Annotated

from litestar import MediaType, Response, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter, SkipValidation

from routebook.server.http.api import InPath
from routebook.server.http.context import HttpContext
from routebook.server.http.dependencies import Context
from routebook.server.http.errors import Refusal, answer, documented
from routebook.server.http.lake_questions import Options, Question, ReportsAnswer
from routebook.server.http.lake_reader import LakeReader
from routebook.server.http.names import from_path

Reader = NamedDependency[SkipValidation[LakeReader]]

_STATUSES = (404, 409, 500, 503)


@get(
    "/v1/reports",
    summary="Which reports the lake has",
    responses={200: answer(ReportsAnswer, "The build they are of, and their names"), **documented(*_STATUSES)},
)
async def reports(context: Context, lake: Reader) -> Response[bytes]:
    """404 with the code `no-lake` and the command that makes one where there is none."""
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
        command = f"routebook lake build --journal {context.home / 'journal'} --lake {context.home / 'lake'}"
        raise Refusal(404, "there is no lake yet", f"make one: {command}", code="no-lake", command=command) from None


def _lake(context: HttpContext) -> str:
    if context.home is None:
        raise Refusal(404, "this server has no home, and so no lake", "start it with --home", code="no-lake")
    return str(context.home / "lake")


def _json(body: bytes) -> Response[bytes]:
    return Response(body, media_type=MediaType.JSON)
