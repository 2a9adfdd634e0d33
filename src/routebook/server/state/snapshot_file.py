"""The tables on disk, so that a start need not read the whole journal.

    snapshot/00000000000000000417.json.zst      the tables when record 417 was the last; the two newest are kept
    snapshot/*.corrupt                          what could not be read

One JSON object, compressed, with a checksum: {"v":1,"ns":"…","boot":"…","seq":417,"at":…,"tables":{…}}.
"""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import zstandard

from routebook.errors import SnapshotError
from routebook.journal.record import UNREADABLE
from routebook.lenient_json import encode_json
from routebook.routes import RouteTable
from routebook.routes.image import Image
from routebook.server.state.atomic_file import write_atomically

T = TypeVar("T")

FORMAT_VERSION: Final = 1
KEPT: Final = 2
_NAME: Final = re.compile(r"(\d{20})\.json\.zst", re.ASCII)
_MAX_BYTES: Final = 4 << 30


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of NameServer `ns` at the moment when `seq` was the last number its start `boot` had given."""

    v: int = FORMAT_VERSION
    ns: str
    boot: str
    seq: int
    at: int
    tables: Image


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of the newest snapshot that can be used, or empty ones; and what is wrong with newer ones."""

    routes: RouteTable
    seq: int  # the number up to which they know all; 0: there is no snapshot
    last_seq: int  # the greatest number that any of them has, used or not
    wrong: tuple[str, ...]


class _Head(msgspec.Struct, frozen=True):
    v: int
    ns: str


class _NotOurs(SnapshotError):
    """Nothing is wrong with it, but it is for somebody else."""


def encode(snapshot: Snapshot) -> bytes:
    """As it stands in the file."""
    text = encode_json(snapshot)
    return zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True).compress(text)


def decode(data: bytes, *, ns: str) -> Snapshot:
    """What a file says. Raises SnapshotError."""
    try:
        if zstandard.frame_content_size(data) > _MAX_BYTES:
            raise SnapshotError("it is too large to be one")
        text = zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError as problem:
        raise SnapshotError(f"not compressed, or damaged: {problem}") from None
    head = _as(_Head, text)
    if head.v != FORMAT_VERSION:
        raise _NotOurs(f"snapshot format version {head.v}, and this Routebook reads {FORMAT_VERSION}")
    if head.ns != ns:
        raise _NotOurs(f"it belongs to NameServer {head.ns}, and this one is {ns}")
    return _as(Snapshot, text)


def _as(kind: type[T], text: bytes) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except UNREADABLE as problem:
        if b"\\ud" not in text:
            raise SnapshotError(f"not a snapshot: {problem}") from None
        try:
            return msgspec.convert(json.loads(text), kind, str_keys=True)
        except (ValueError, RecursionError):
            raise SnapshotError(f"not a snapshot: {problem}") from None


def write(folder: Path, snapshot: Snapshot) -> int:
    """Put it on disk and forget older ones; its size. Raises OSError."""
    data = encode(snapshot)
    path = folder / f"{snapshot.seq:020}.json.zst"
    write_atomically(path, data)
    for old in [path for _, path in _listed(folder)][KEPT:]:
        with contextlib.suppress(OSError):  # the next one tries again
            old.unlink()
    return len(data)


def find_newest(folder: Path, *, ns: str) -> Found:
    """The newest that is good. One that is damaged is set aside, so that nobody trips over it again."""
    wrong: list[str] = []
    _remove_leftovers(folder)
    listed = list(_listed(folder))
    last_seq = max((seq for seq, _ in listed), default=0)
    for _, path in listed:
        routes = RouteTable()
        try:
            snapshot = decode(path.read_bytes(), ns=ns)
            routes.restore(snapshot.tables)
        except OSError as problem:
            wrong.append(f"snapshot {path} cannot be read: {problem.strerror or problem}")
        except _NotOurs as problem:
            wrong.append(f"snapshot {path} is not used: {problem}")
        except SnapshotError as problem:
            wrong.append(f"snapshot {path} cannot be used: {problem}{_set_aside(path)}")
        else:
            return Found(routes=routes, seq=snapshot.seq, last_seq=last_seq, wrong=tuple(wrong))
    return Found(routes=RouteTable(), seq=0, last_seq=last_seq, wrong=tuple(wrong))


def _set_aside(path: Path) -> str:
    """Rename it; what to say of that."""
    try:
        path.rename(path.with_name(path.name + ".corrupt"))
    except OSError:
        return ""
    return f"; set aside as {path.name}.corrupt"


def _remove_leftovers(folder: Path) -> None:
    """What a killed process had half written."""
    for leftover in folder.glob(".*.json.zst.*.tmp"):
        with contextlib.suppress(OSError):
            leftover.unlink()


def _listed(folder: Path) -> Iterator[tuple[int, Path]]:
    """Numbers and files, the newest first."""
    try:
        names = sorted((path.name for path in folder.iterdir()), reverse=True)
    except OSError:
        return
    for name in names:
        if match := _NAME.fullmatch(name):
            yield int(match[1]), folder / name
