"""`/v1/reports`: reports from the lake."""

from pathlib import Path
from typing import Annotated, Final

from litestar import MediaType, Response, get
from litestar.params import QueryParameter

from routebook.lake.config import default_lake
from routebook.lake.status import State
from routebook.server.http.api.parameters import NameInPath, OnlyCluster, from_path
from routebook.server.http.api.parts import Parts, PartsDep
from routebook.server.http.errors import ApiError, error_specs, response_spec
from routebook.server.http.lake.messages import Options, Query, ReportsAnswer
from routebook.server.state.lake_status import following

_STATUSES = (404, 409, 500, 503)
_NO_OPTIONS: Final = Options()
_RETRY_S: Final = 5  # a first build takes a minute or two


@get(
    "/v1/reports",
    summary="Available reports",
    responses={200: response_spec(ReportsAnswer, "The build and the names of the reports"), **error_specs(*_STATUSES)},
)
async def reports(parts: PartsDep) -> Response[bytes]:
    """Without a lake: 404 with the command that builds it, or 503 while `routebook up` builds it."""
    return await _query(parts)


@get(
    "/v1/reports/{name:str}",
    summary="One report",
    responses={200: response_spec(dict, "docs/lake.md describes each report"), **error_specs(*_STATUSES)},
)
async def report(
    parts: PartsDep,
    name: NameInPath,
    days: Annotated[int, QueryParameter(ge=1, le=3660, description="number of days")] = 30,
    zone: Annotated[str, QueryParameter(max_length=64, description="time zone of the days")] = "UTC",
    ns: Annotated[str | None, QueryParameter(description="only this NameServer")] = None,
    cluster: OnlyCluster = None,
    limit: Annotated[int | None, QueryParameter(ge=1, le=10_000, description="maximum number of rows")] = None,
) -> Response[bytes]:
    """One report over the last days in the lake."""
    options = Options(days=days, zone=zone, ns=ns, cluster=cluster, limit=limit)
    return await _query(parts, from_path(name), options)


async def _query(parts: Parts, report: str | None = None, options: Options = _NO_OPTIONS) -> Response[bytes]:
    home = parts.context.home
    if home is None:
        raise ApiError(404, "this server has no home directory and no lake", "start it with --home", code="no-lake")
    try:
        body = await parts.lake.query(Query(lake=str(default_lake(home)), report=report, options=options))
    except ApiError as error:
        if error.problem.code != "no-lake":
            raise
        raise _no_lake(home) from None
    return Response(body, media_type=MediaType.JSON)


def _no_lake(home: Path) -> ApiError:
    """Why there is no lake: not built, being built, or failed."""
    lake = home / "lake"
    status = following(lake)
    if status is None or status.state is State.STOPPED:
        command = f"routebook lake build --journal {home / 'journal'} --lake {lake}"
        return ApiError(404, "no lake has been built", f"build one: {command}", code="no-lake", command=command)
    if status.state is State.FAILED:
        why, hint = f"the lake build failed: {status.says}", "see the log; the build is retried"
        return ApiError(503, why, hint, code="lake-failed")
    says = status.says or "starting"
    return ApiError(503, "the first lake build is in progress", says, code="lake-building", retry_after_s=_RETRY_S)
