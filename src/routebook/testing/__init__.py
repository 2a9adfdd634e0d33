"""Test support for NameServer clients: a NameServer and fake brokers in the test process. See docs/testing.md.

Modules are imported on first use, because pytest imports this package in every run.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from routebook.testing.fake_broker import FakeBroker
    from routebook.testing.local_controller import LocalController
    from routebook.testing.local_nameserver import LocalNameServer

__all__ = ["FakeBroker", "LocalController", "LocalNameServer"]

_MODULE_OF: Final = {
    "FakeBroker": "fake_broker",
    "LocalController": "local_controller",
    "LocalNameServer": "local_nameserver",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
