"""For tests of whatever talks to a NameServer: one in this process, and brokers to go with it. docs/testing.md.

Nothing is loaded until it is used: pytest imports this for every run, also for those that have no use for it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from routebook.testing.fake_broker import FakeBroker
    from routebook.testing.local_nameserver import LocalNameServer

__all__ = ["FakeBroker", "LocalNameServer"]

_HOMES: Final = {"FakeBroker": "fake_broker", "LocalNameServer": "local_nameserver"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
