"""The Litestar application: all endpoints, their dependencies, error handling and the OpenAPI document."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

import msgspec
from litestar import Litestar, Response
from litestar.di import Provide
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin

from routebook import __version__
from routebook.lenient_json import encode_json
from routebook.server.http.api import (
    admin,
    brokers,
    controller,
    controller_admin,
    diagnosis,
    events,
    journal,
    login,
    peers,
    reports,
    server,
    topics,
)
from routebook.server.http.api.parts import Parts
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError, on_api_error, on_exception, on_http_exception
from routebook.server.http.views.schema_page import SchemaPage

_API: Final = (server, brokers, controller, topics, diagnosis, events, journal, peers, reports)
_PROBES: Final = {"/healthz", "/readyz", "/metrics", "/v1/health"}
_CONSOLE_API: Final = (login, admin, controller_admin)
_MAX_BODY_BYTES: Final = 64 * 1024


class JsonResponse(Response[Any]):
    """JSON that may contain lone surrogates, which Java accepts in names: they are escaped, as UTF-8 has none."""

    def render(self, content: Any, media_type: str, enc_hook: Any = None) -> bytes:
        if not isinstance(content, msgspec.Struct):
            return super().render(content, media_type, enc_hook)
        return encode_json(content)


def create_app(parts: Parts) -> Litestar:
    return LeanLitestar(
        route_handlers=_chosen_endpoints(parts.context),
        dependencies={"context": _provide(parts.context), "parts": _provide(parts)},
        exception_handlers={
            ApiError: on_api_error,
            HTTPException: on_http_exception,
            Exception: on_exception,
        },
        openapi_config=OpenAPIConfig(
            title="Routebook",
            version=__version__,
            description="Current and past routes of a RocketMQ NameServer. Times are milliseconds since the epoch.",
            path="/schema",
            render_plugins=[SchemaPage(), JsonRenderPlugin()],
            use_handler_docstrings=True,
        ),
        request_max_body_size=_MAX_BODY_BYTES,
        response_class=JsonResponse,
        logging_config=None,
        debug=False,
    )


def _chosen_endpoints(context: HttpContext) -> list[HTTPRouteHandler]:
    if context.only_controller:
        return [one for one in _endpoints(server, controller) if one.paths & _PROBES or one in _endpoints(controller)]
    return list(_endpoints(*_API, *(_CONSOLE_API if context.has_console else ())))


def _endpoints(*modules: ModuleType) -> Iterator[HTTPRouteHandler]:
    """The endpoints that the modules define."""
    for module in modules:
        yield from (value for value in vars(module).values() if isinstance(value, HTTPRouteHandler))


def _provide(part: object) -> Provide:
    return Provide(lambda: part, use_cache=True, sync_to_thread=False)


class LeanLitestar(Litestar):
    """Litestar with its msgspec plugin only: the others cost 12 MB and a quarter of a second.

    Overrides a private Litestar method: test_transport.py names it.
    """

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin()]
