"""pytest fixtures: `nameserver`, `make_nameserver`, `fake_broker`. Every pytest run loads this, so it loads nothing."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from routebook.testing.fake_broker import FakeBroker
    from routebook.testing.local_nameserver import LocalNameServer


@pytest.fixture
def make_nameserver(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Callable[..., LocalNameServer]]":
    """Starts NameServers: `make_nameserver(settings={...}, journal=False)`; they end with the test."""
    with ExitStack() as running:

        def make(*, settings: dict[str, str] | None = None, journal: bool = False) -> "LocalNameServer":
            from routebook.testing.local_nameserver import LocalNameServer  # noqa: PLC0415 - when it is wanted

            home = tmp_path_factory.mktemp("nameserver") if journal else None
            return running.enter_context(LocalNameServer(settings=settings, home=home))

        yield make


@pytest.fixture
def nameserver(make_nameserver: "Callable[..., LocalNameServer]") -> "LocalNameServer":
    """A NameServer on a free port of this machine, empty, without a journal."""
    return make_nameserver()


@pytest.fixture
def fake_broker(request: pytest.FixtureRequest) -> "Iterator[Callable[..., FakeBroker]]":
    """Starts brokers: `fake_broker("broker-a", topics=["orders"])`, at `nameserver` if nothing else is said."""
    with ExitStack() as running:

        def start(name: str = "broker-a", **options: Any) -> "FakeBroker":
            from routebook.testing.fake_broker import FakeBroker  # noqa: PLC0415 - when it is wanted

            if "nameservers" not in options:
                options["nameservers"] = request.getfixturevalue("nameserver").address
            return running.enter_context(FakeBroker(name, **options))

        yield start
