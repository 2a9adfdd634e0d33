"""Snapshots on disk: the newest good one is used, damaged ones are set aside and said."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import zstandard

from routebook.routes import RouteTable
from routebook.routes.image import capture
from routebook.server.state.snapshot_file import KEPT, Snapshot, decode, encode, find_newest, write
from tests.support.route_tables import dump, mapping, register, registration


def table(*topics: str) -> RouteTable:
    made = RouteTable()
    register(made, registration(topics=("base", *topics)))
    return made


def snapshot(seq: int, *topics: str, ns: str = "n") -> Snapshot:
    return Snapshot(ns=ns, boot="b", seq=seq, at=5, tables=capture(table(f"t{seq}", *topics)))


def test_the_newest_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "snapshot"
    for seq in (9, 10, 100):
        assert write(folder, snapshot(seq)) == (folder / f"{seq:020}.json.zst").stat().st_size
    found = find_newest(folder, ns="n")
    assert (found.seq, found.last_seq, found.wrong) == (100, 100, ())
    assert dump(found.routes) == dump(table("t100"))


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    for seq in range(1, 6):
        write(tmp_path, snapshot(seq))
    assert len(list(tmp_path.iterdir())) == KEPT
    assert find_newest(tmp_path, ns="n").seq == 5


def test_no_folder_is_no_snapshot(tmp_path: Path) -> None:
    found = find_newest(tmp_path / "nowhere", ns="n")
    assert (found.seq, found.last_seq, found.wrong) == (0, 0, ())
    assert found.routes.topics() == []


def cut(data: bytes) -> bytes:
    return data[:-10]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def not_fitting(data: bytes) -> bytes:
    whole = decode(data, ns="n")
    return encode(msgspec.structs.replace(whole, tables=msgspec.structs.replace(whole.tables, layout_of=[7, 7])))


def not_json(_data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(b"hello")


def of_no_size(data: bytes) -> bytes:
    text = zstandard.ZstdDecompressor().decompress(data)
    return zstandard.ZstdCompressor(write_content_size=False).compress(text)[:-3]


def empty(_data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [cut, flipped, not_fitting, not_json, of_no_size, empty])
def test_a_damaged_one_is_set_aside_and_the_one_before_is_used(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    write(tmp_path, snapshot(1))
    write(tmp_path, snapshot(2))
    newest = tmp_path / f"{2:020}.json.zst"
    newest.write_bytes(damage(newest.read_bytes()))
    found = find_newest(tmp_path, ns="n")
    assert (found.seq, found.last_seq) == (1, 2)
    assert dump(found.routes) == dump(table("t1"))
    (wrong,) = found.wrong
    assert f"{newest} cannot be used: " in wrong
    assert f"set aside as {newest.name}.corrupt" in wrong
    assert newest.with_name(newest.name + ".corrupt").exists()
    assert find_newest(tmp_path, ns="n").wrong == ()


def test_one_of_another_release_or_nameserver_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, snapshot(1))
    write(tmp_path, snapshot(2, ns="other"))
    newer = msgspec.structs.replace(snapshot(3), v=99)
    (tmp_path / f"{3:020}.json.zst").write_bytes(encode(newer))
    found = find_newest(tmp_path, ns="n")
    assert (found.seq, found.last_seq) == (1, 3)
    assert all(part in wrong for part, wrong in zip(["version 99", "NameServer other"], found.wrong, strict=True))
    assert len(list(tmp_path.glob("*.json.zst"))) == 3


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    write(tmp_path, snapshot(1))
    (tmp_path / f".{2:020}.json.zst.abc.tmp").write_bytes(b"half")
    find_newest(tmp_path, ns="n")
    assert [path.name for path in tmp_path.iterdir()] == [f"{1:020}.json.zst"]


def test_half_a_surrogate_pair_survives(tmp_path: Path) -> None:
    made = RouteTable()
    odd = msgspec.structs.replace(mapping("base", "broker-a"), scope="\ud800")
    register(made, registration(mappings=[odd]))
    write(tmp_path, Snapshot(ns="n", boot="b", seq=1, at=5, tables=capture(made)))
    assert dump(find_newest(tmp_path, ns="n").routes) == dump(made)


def test_the_format(tmp_path: Path) -> None:
    """A change that breaks this needs another format version."""
    made = RouteTable()
    register(made, registration(topics=("A", "B"), mappings=[mapping("A", "broker-a")]))
    text = zstandard.ZstdDecompressor().decompress(
        encode(Snapshot(ns="n", boot="b", seq=7, at=5, tables=capture(made)))
    )
    assert text == (
        b'{"v":1,"ns":"n","boot":"b","seq":7,"at":5,"tables":{'
        b'"groups":[["broker-a","DefaultCluster",false,null,[[0,"DefaultCluster","10.0.0.1:10911"]]]],'
        b'"leases":[["DefaultCluster","10.0.0.1:10911",120000,{"counter":1,"stateVersion":0,"timestamp":1000},'
        b'"10.0.0.1:10912",[],false]],'
        b'"queues":[[0,6,8,8,0]],"layouts":[[0]],"topics":["A","B"],"layout_of":[0,0],'
        b'"mappings":{"A":{"broker-a":{"bname":"broker-a","currIdMap":{"0":0},"dirty":false,"epoch":1,'
        b'"scope":"__global__","topic":"A","totalQueues":8}}}}}'
    )
