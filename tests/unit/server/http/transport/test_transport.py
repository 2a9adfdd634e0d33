"""Undocumented parts of uvicorn and Litestar that subclasses rely on. A failure after an upgrade names the part."""

import inspect
from collections.abc import Callable

import pytest
import uvicorn
from litestar import Litestar
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from routebook.server.http.app import LeanLitestar
from routebook.server.http.transport.protocol import BoundedProtocol, EmbeddedServer
from routebook.server.http.transport.websocket import load

SUBCLASSES = [BoundedProtocol, EmbeddedServer, LeanLitestar, load()]


@pytest.mark.parametrize("subclass", SUBCLASSES, ids=lambda subclass: subclass.__name__)
def test_every_overridden_method_still_exists_with_the_same_parameters(subclass: type) -> None:
    parent = subclass.__mro__[1]
    own = {"__init__", "_set_timeout", "_time_out", "_cancel_timer", "_is_idle", "_parsed_bytes"}
    for name, method in vars(subclass).items():
        if callable(getattr(subclass, name)) and name not in own and not name.startswith("__"):
            overridden: Callable[..., object] | None = getattr(parent, name, None)
            assert overridden is not None, f"{parent.__name__}.{name} is gone: {subclass.__name__} overrides nothing"
            ours = list(inspect.signature(getattr(subclass, name)).parameters)
            assert ours == list(inspect.signature(overridden).parameters), f"{parent.__name__}.{name}"
        elif name.startswith("_") and not name.startswith("__") and not isinstance(method, staticmethod):
            assert not hasattr(parent, name) or callable(getattr(parent, name)), f"{parent.__name__} now uses {name}"


def attributes_set_in(function: Callable[..., object]) -> set[str]:
    return {
        line.strip().removeprefix("self.").partition(":")[0].partition(" ")[0]
        for line in inspect.getsource(function).splitlines()
        if line.strip().startswith("self.")
    }


def test_the_http_protocol_has_the_attributes_that_its_limits_use() -> None:
    assert attributes_set_in(HttpToolsProtocol.__init__) >= {"loop", "transport", "cycle", "headers"}
    assert attributes_set_in(RequestResponseCycle.__init__) >= {"more_body", "response_complete"}
    assert list(inspect.signature(HttpToolsProtocol.send_400_response).parameters) == ["self", "msg"]


def test_uvicorn_answers_an_exception_in_a_parser_callback_with_400() -> None:
    assert "httptools.HttpParserError" in inspect.getsource(HttpToolsProtocol.data_received)


def test_the_websocket_protocol_has_the_attributes_that_its_timeout_uses() -> None:
    assert attributes_set_in(WebSocketsSansIOProtocol.__init__) >= {"loop", "transport"}


def test_uvicorn_calls_the_websocket_class_with_keywords_only() -> None:
    source = inspect.getsource(HttpToolsProtocol.handle_websocket_upgrade)
    for argument in ("config=", "server_state=", "app_state="):
        assert argument in source


def test_the_server_installs_signal_handlers_nowhere_else() -> None:
    assert "self.capture_signals()" in inspect.getsource(uvicorn.Server.serve)
    assert "signal.signal" not in inspect.getsource(uvicorn.Server.serve)


def test_litestar_takes_its_default_plugins_from_the_overridden_method() -> None:
    assert "_get_default_plugins" in inspect.getsource(Litestar.__init__)
