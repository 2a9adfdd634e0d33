"""Litestar without the plugins for libraries that are not used here, which cost 12 MB and a quarter of a second.

Overrides a private Litestar method: test_transport.py names it.
"""

from litestar import Litestar
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin


class LeanLitestar(Litestar):
    """Litestar with its msgspec plugin only."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin()]
