"""106 is encoded once per change."""

from routebook.events import DownReason
from tests.support.core_client import CoreClient


def test_same_bytes_until_something_changes() -> None:
    ns = CoreClient()
    ns.register("a", "b")
    first = ns.ask(106).body
    assert first is not None
    assert ns.ask(106).body is first
    ns.register("a", "b", broker="broker-b", addr="127.0.0.2:10911", connection=2)
    second = ns.ask(106).body
    assert second is not None
    assert b'"broker-b"' in second
    ns.nameserver.connection_lost(2, DownReason.CLOSED, ns.now_ms)
    assert ns.ask(106).body == first
