"""`/healthz`, `/readyz`, `/metrics`: for machines that watch over this one."""

from litestar import Response, get

from routebook import __version__
from routebook.server.http.api.dependencies import Context, Scrape
from routebook.server.http.api.metrics import MEDIA_TYPE
from routebook.server.http.errors import answer
from routebook.server.http.views.answers import AliveAnswer, ReadyAnswer


@get("/healthz", summary="Whether the process is alive")
async def healthz(context: Context) -> AliveAnswer:
    uptime_s = (context.now_ms() - context.nameserver.started_ms) / 1000
    return AliveAnswer(status="alive", version=__version__, ns=context.ns, uptime_s=uptime_s)


@get(
    "/readyz",
    summary="Whether clients should be sent here",
    responses={503: answer(ReadyAnswer, "Not now")},
)
async def readyz(context: Context) -> Response[ReadyAnswer]:
    waiting_for = context.health.waiting_for()
    ready = ReadyAnswer(ready=not waiting_for, waiting_for=waiting_for)
    return Response(ready, status_code=503 if waiting_for else 200)


@get(
    "/metrics",
    summary="Numbers for Prometheus",
    media_type="text/plain",
    responses={200: answer(str, "Prometheus' text format", media_type="text/plain")},
)
async def metrics(scrape: Scrape) -> Response[bytes]:
    return Response(scrape.text(), media_type=MEDIA_TYPE)
