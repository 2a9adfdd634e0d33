"""The application: all paths, what their handlers are given, and what they answer when something is wrong."""

from typing import Any, Final

import msgspec
from litestar import Litestar, Response
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

from routebook import __version__
from routebook.lenient_json import encode_json
from routebook.peers.digests import Digests
from routebook.server.http.api import (
    admin,
    compare,
    digests,
    events,
    login,
    peers,
    probes,
    records,
    timelines,
)
from routebook.server.http.api import (
    brokers as broker_pages,
)
from routebook.server.http.api import (
    overview as now,
)
from routebook.server.http.api import (
    tables as api,
)
from routebook.server.http.api.metrics import Metrics
from routebook.server.http.api.schema_page import SchemaPage
from routebook.server.http.auth.login_throttle import Attempts
from routebook.server.http.auth.sessions import Sessions
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Refusal, on_exception, on_http_exception, on_refusal
from routebook.server.http.lake import reports
from routebook.server.http.lake.reader import LakeReader
from routebook.server.http.live.hub import Hub
from routebook.server.http.live.journal_window import JournalPast
from routebook.server.http.threads import Threads
from routebook.server.http.transport.litestar_app import LeanLitestar
from routebook.server.http.views.topic_names import TopicNames
from routebook.server.http.views.topic_search import TopicSearch

_HANDLERS: Final = (
    probes.healthz,
    probes.readyz,
    probes.metrics,
    api.server,
    api.health,
    api.clusters,
    api.brokers,
    api.broker,
    api.topics,
    api.route,
    api.kv,
    timelines.route_history,
    timelines.broker_history,
    digests.digest,
    digests.bucket_digest,
    peers.peers,
    events.events,
    now.overview,
    now.strip,
    now.search_topics,
    now.demand,
    now.misses,
    now.settings,
    broker_pages.broker_sessions,
    broker_pages.broker_beats,
    broker_pages.broker_loss,
    records.records,
    compare.compare_allowed,
    compare.compare,
    reports.reports,
    reports.report,
)
_CONSOLE: Final = (
    login.session,
    login.log_in,
    login.log_out,
    admin.put_kv,
    admin.delete_kv,
    admin.change_settings,
    admin.wipe_write,
    admin.restore_write,
    admin.delete_topic,
)
_MOST_BODY_BYTES: Final = 64 * 1024


class JsonResponse(Response[Any]):
    """Names may hold half a surrogate pair, which Java lets through: it has no UTF-8, but JSON has an escape for it."""

    def render(self, content: Any, media_type: str, enc_hook: Any = None) -> bytes:
        if not isinstance(content, msgspec.Struct):
            return super().render(content, media_type, enc_hook)
        return encode_json(content)


class Parts:
    """What handlers share."""

    def __init__(self, context: HttpContext) -> None:
        self.context = context
        self.topics = TopicNames(context.nameserver.routes)
        self.digests = Digests(context.nameserver.routes)
        self.threads = Threads()
        self.hub = Hub(context, self.threads)
        self.search = TopicSearch(self.topics)
        self.lake = LakeReader()
        self.sessions = Sessions(context)
        self.attempts = Attempts(most=context.nameserver.settings.console.login_attempts)
        context.sessions = self.sessions.identity
        self.scrape = Metrics(context)
        self.journal = (
            None
            if context.journal is None or context.journal_files is None
            else JournalPast(context.journal_files, context.journal)
        )

    def close(self) -> None:
        self.threads.close()
        self.lake.close()
        if self.journal is not None:
            self.journal.close()


def build(parts: Parts) -> Litestar:
    """The application over these parts."""
    given = {
        "attempts": parts.attempts,
        "context": parts.context,
        "digests": parts.digests,
        "hub": parts.hub,
        "journal": parts.journal,
        "lake": parts.lake,
        "names": parts.topics,
        "scrape": parts.scrape,
        "search": parts.search,
        "sessions": parts.sessions,
        "threads": parts.threads,
    }
    return LeanLitestar(
        route_handlers=[*_HANDLERS, *(_CONSOLE if parts.context.nameserver.settings.console.enabled else ())],
        dependencies={name: _always(part) for name, part in given.items()},
        exception_handlers={
            Refusal: on_refusal,
            HTTPException: on_http_exception,
            Exception: on_exception,
        },
        openapi_config=OpenAPIConfig(
            title="Routebook",
            version=__version__,
            description="What a RocketMQ NameServer knows, and knew. Times are milliseconds since the epoch.",
            path="/schema",
            render_plugins=[SchemaPage(), JsonRenderPlugin()],
            use_handler_docstrings=True,
        ),
        request_max_body_size=_MOST_BODY_BYTES,
        response_class=JsonResponse,
        logging_config=None,
        debug=False,
    )


def _always(part: object) -> Provide:
    return Provide(lambda: part, use_cache=True, sync_to_thread=False)
