"""pytest fixtures: `nameserver`, `make_nameserver`, `fake_broker`, `controller`. They import Routebook on first use."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from routebook.testing.fake_broker import FakeBroker
    from routebook.testing.local_controller import LocalController
    from routebook.testing.local_nameserver import LocalNameServer


@pytest.fixture
def make_nameserver(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Callable[..., LocalNameServer]]":
    """Start NameServers: `make_nameserver(settings={...}, journal=False)`; they stop with the test."""
    with ExitStack() as stack:

        def make(*, settings: dict[str, str] | None = None, journal: bool = False) -> "LocalNameServer":
            from routebook.testing.local_nameserver import LocalNameServer  # noqa: PLC0415 - only if used

            home = tmp_path_factory.mktemp("nameserver") if journal else None
            return stack.enter_context(LocalNameServer(settings=settings, home=home))

        yield make


@pytest.fixture
def nameserver(make_nameserver: "Callable[..., LocalNameServer]") -> "LocalNameServer":
    """An empty NameServer on a free port of 127.0.0.1, without a journal."""
    return make_nameserver()


@pytest.fixture
def controller(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[LocalController]":
    """A Controller with one node on a free port of 127.0.0.1."""
    from routebook.testing.local_controller import LocalController  # noqa: PLC0415 - only if used

    with LocalController(tmp_path_factory.mktemp("controller")) as running:
        yield running


@pytest.fixture
def fake_broker(request: pytest.FixtureRequest) -> "Iterator[Callable[..., FakeBroker]]":
    """Start fake brokers: `fake_broker("broker-a", topics=["orders"])`, by default on `nameserver`."""
    with ExitStack() as stack:

        def start(name: str = "broker-a", **options: Any) -> "FakeBroker":
            from routebook.testing.fake_broker import FakeBroker  # noqa: PLC0415 - only if used

            if "nameservers" not in options:
                options["nameservers"] = request.getfixturevalue("nameserver").address
            return stack.enter_context(FakeBroker(name, **options))

        yield start
