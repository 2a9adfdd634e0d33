"""The copy of the sets in etcd: only newer versions replace what is known."""

import msgspec
import pytest

from routebook.controller.state import BrokerSet
from routebook.server.controller.etcd_messages import KeyValue
from routebook.server.controller.etcd_mirror import Mirror
from routebook.server.controller.log import LogError


def row(name: str, revision: int, *, epoch: int = 0) -> KeyValue:
    value = msgspec.json.encode(BrokerSet(cluster="C", name=name, master_epoch=epoch))
    return KeyValue(b"/p/sets/" + name.encode(), value, 1, revision)


def test_a_load_replaces_everything_and_earlier_changes_are_ignored() -> None:
    mirror = Mirror(b"/p/sets/")
    assert set(mirror.load([row("a", 3), row("b", 4)], 7)) == {"a", "b"}
    assert (mirror.revision("a"), mirror.revision("c")) == (3, 0)
    assert mirror.take_row(row("a", 6), is_deletion=False) is None, "the load has seen revision 6"
    assert mirror.take_row(row("c", 7), is_deletion=False) is None
    changed = mirror.take_row(row("a", 8, epoch=2), is_deletion=False)
    assert changed is not None
    assert changed[1] == BrokerSet(cluster="C", name="a", master_epoch=2)
    assert mirror.load([], 2) == {}, "etcd was restored from a backup: revisions start lower"
    assert mirror.take("a", 3, exists=True)


def test_a_deletion_is_remembered_until_a_newer_put() -> None:
    mirror = Mirror(b"/p/sets/")
    mirror.load([row("a", 3)], 5)
    assert mirror.take_row(row("a", 9), is_deletion=True) == ("a", None)
    assert mirror.revision("a") == 0
    assert mirror.take_row(row("a", 8), is_deletion=False) is None
    assert mirror.take("a", 10, exists=True)
    assert not mirror.take("a", 10, exists=True)
    assert mirror.revision("a") == 10


def test_a_value_that_is_not_a_set_is_named() -> None:
    mirror = Mirror(b"/p/sets/")
    with pytest.raises(LogError, match=r"etcd key /p/sets/a is not a broker set: .*restore a backup or delete it"):
        mirror.load([KeyValue(b"/p/sets/a", b"{}", 1, 3)], 5)
