"""Table snapshots: written periodically and at shutdown, loaded at the next start instead of the whole journal.

    snapshot/00000000000000000417.json.zst      the tables after journal record 417; the two newest are kept
    snapshot/*.corrupt                          files that could not be read

One JSON object, compressed, with a checksum: {"v":1,"ns":"…","boot":"…","seq":417,"at":…,"tables":{…}}.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
import zstandard

from routebook.errors import SnapshotError
from routebook.journal.record import UNREADABLE
from routebook.lenient_json import decode_json, encode_json
from routebook.routes import RouteTable
from routebook.routes.image import Capture, Captured, Image
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.health import Condition, Fact, Part
from routebook.server.state.atomic_file import write_atomically
from routebook.server.state.recorder import Recorder

T = TypeVar("T")

FORMAT_VERSION: Final = 1
KEPT: Final = 2
_NAME: Final = re.compile(r"(\d{20})\.json\.zst", re.ASCII)
_MAX_BYTES: Final = 4 << 30
_QUEUES_PER_SLICE: Final = 20_000  # a few milliseconds
_FIRST_S: Final = 20.0  # soon after a start without a snapshot, or after a crash
_CHECK_S: Final = 1.0
_MAX_TAIL_BYTES: Final = 8 << 20  # of the journal; a start replays this in well under a second


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of NameServer `ns` after record `seq`, which its start `boot` wrote."""

    v: int = FORMAT_VERSION
    ns: str
    boot: str
    seq: int
    at: int
    tables: Image


class LoadedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The tables of the newest usable snapshot, or empty ones."""

    routes: RouteTable
    seq: int  # the last record that the tables contain; 0: there is no snapshot
    last_seq: int  # the highest record number of any snapshot, usable or not
    problems: tuple[str, ...]  # why newer snapshots were not used


class _Head(msgspec.Struct, frozen=True):
    v: int
    ns: str


class _ForeignSnapshot(SnapshotError):
    """A snapshot of another format version or of another NameServer."""


def load_newest(folder: Path, *, ns: str) -> LoadedSnapshot:
    """Load the newest usable snapshot. A damaged one is renamed to `*.corrupt`."""
    problems: list[str] = []
    for leftover in folder.glob(".*.json.zst.*.tmp"):  # of a killed process
        with contextlib.suppress(OSError):
            leftover.unlink()
    listed = list(_list_newest_first(folder))
    last_seq = max((seq for seq, _ in listed), default=0)
    for _, path in listed:
        routes = RouteTable()
        try:
            snapshot = decode(path.read_bytes(), ns=ns)
            routes.restore(snapshot.tables)
        except OSError as problem:
            problems.append(f"snapshot {path} cannot be read: {problem.strerror or problem}")
        except _ForeignSnapshot as problem:
            problems.append(f"snapshot {path} is not used: {problem}")
        except SnapshotError as problem:
            problems.append(f"snapshot {path} cannot be used: {problem}{_set_aside(path)}")
        else:
            return LoadedSnapshot(routes=routes, seq=snapshot.seq, last_seq=last_seq, problems=tuple(problems))
    return LoadedSnapshot(routes=RouteTable(), seq=0, last_seq=last_seq, problems=tuple(problems))


def write_snapshot(folder: Path, snapshot: Snapshot) -> int:
    """Write a snapshot and remove old ones; the size of the file. Raises OSError."""
    data = encode(snapshot)
    write_atomically(folder / f"{snapshot.seq:020}.json.zst", data)
    for _, old in list(_list_newest_first(folder))[KEPT:]:
        with contextlib.suppress(OSError):  # the next write tries again
            old.unlink()
    return len(data)


def encode(snapshot: Snapshot) -> bytes:
    """The content of a snapshot file."""
    text = encode_json(snapshot)
    return zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True).compress(text)


def decode(data: bytes, *, ns: str) -> Snapshot:
    """Parse the content of a snapshot file. Raises SnapshotError."""
    try:
        if zstandard.frame_content_size(data) > _MAX_BYTES:
            raise SnapshotError("the file is too large for a snapshot")
        text = zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError as problem:
        raise SnapshotError(f"not compressed, or damaged: {problem}") from None
    head = _parse(_Head, text)
    if head.v != FORMAT_VERSION:
        raise _ForeignSnapshot(f"snapshot format version {head.v}; this Routebook reads version {FORMAT_VERSION}")
    if head.ns != ns:
        raise _ForeignSnapshot(f"it belongs to NameServer {head.ns}; this one is {ns}")
    return _parse(Snapshot, text)


def _parse(kind: type[T], text: bytes) -> T:
    try:
        return decode_json(text, kind)
    except (*UNREADABLE, ValueError) as problem:
        raise SnapshotError(f"not a snapshot: {problem}") from None


def _set_aside(path: Path) -> str:
    """Rename a damaged file; the text that reports it."""
    try:
        path.rename(path.with_name(path.name + ".corrupt"))
    except OSError:
        return ""
    return f"; set aside as {path.name}.corrupt"


def _list_newest_first(folder: Path) -> Iterator[tuple[int, Path]]:
    try:
        names = sorted((path.name for path in folder.iterdir()), reverse=True)
    except OSError:
        return
    for name in names:
        if match := _NAME.fullmatch(name):
            yield int(match[1]), folder / name


class SnapshotWriter:
    """Writes snapshots from `start` until `await stop()`, which writes the last one."""

    def __init__(
        self,
        folder: Path,
        *,
        routes: RouteTable,
        recorder: Recorder,
        event_log: EventLog,
        wall_ms: Callable[[], int],
        interval_s: float,
    ) -> None:
        self._folder = folder
        self._routes = routes
        self._recorder = recorder
        self._event_log = event_log
        self._wall_ms = wall_ms
        self._interval_s = interval_s
        self._task: asyncio.Task[None] | None = None
        self.seq = 0  # of the newest snapshot
        self.at_ms = 0
        self.bytes = 0
        self.taken = 0
        self.problem: str | None = None  # why the last write failed

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="snapshots")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self.take()

    async def take(self) -> None:
        """Capture the tables in slices of a few milliseconds; write them after the journal records they contain."""
        capture = Capture(self._routes)
        while (captured := capture.step(max_queues=_QUEUES_PER_SLICE)) is None:  # noqa: ASYNC110  requests run between slices
            await asyncio.sleep(0)
        seq, at_ms = self._recorder.last_seq, self._wall_ms()  # no await since the last slice
        await self._recorder.durable(seq)
        try:
            self.bytes = await asyncio.to_thread(self._write, captured, seq, at_ms)
        except OSError as problem:
            logged, self.problem = self.problem, f"{self._folder}: {problem.strerror or problem}"
            if logged != self.problem:
                self._event_log.save_failed(f"snapshot in {self.problem}")
            return
        self.seq, self.at_ms, self.problem = seq, at_ms, None
        self.taken += 1

    def health(self) -> Part:
        """The health component `snapshot`."""
        facts: dict[str, Fact] = {"seq": self.seq, "at_ms": self.at_ms, "bytes": self.bytes, "taken": self.taken}
        if self.problem is None:
            return Part(facts=facts)
        says = f"cannot write a snapshot to {self.problem}; until it works, a restart replays more of the journal"
        return Part(Condition.DEGRADED, says, facts)

    def _write(self, captured: Captured, seq: int, at_ms: int) -> int:
        ns, boot, tables = self._recorder.ns, self._recorder.boot, captured.image()
        return write_snapshot(self._folder, Snapshot(ns=ns, boot=boot, seq=seq, at=at_ms, tables=tables))

    async def _run(self) -> None:
        """Take a snapshot per interval; earlier if the journal tail is long or has lost records."""
        loop = asyncio.get_running_loop()
        due_s, before = loop.time() + min(_FIRST_S, self._interval_s), self._tail()
        while True:
            await asyncio.sleep(min(_CHECK_S, self._interval_s))
            tail = self._tail()
            is_long = tail.written_bytes - before.written_bytes >= _MAX_TAIL_BYTES
            if loop.time() < due_s and not is_long and tail.dropped == before.dropped:
                continue
            if self._recorder.last_seq != self.seq:
                try:
                    await self.take()
                except Exception as error:  # noqa: BLE001  a failed snapshot is logged; the next interval retries
                    self._event_log.task_failed("snapshot", error)
            due_s, before = loop.time() + self._interval_s, tail

    def _tail(self) -> "_Tail":
        journal = self._recorder.journal
        if journal is None:
            return _Tail(0, 0)
        status = journal.status()
        # a disk that rejects the journal rejects snapshots, too: -1 differs from the count after the outage
        return _Tail(status.written_bytes, -1 if status.state == "degraded" else status.dropped_records)


class _Tail(NamedTuple):
    """How much the journal has written, and how many records it has lost."""

    written_bytes: int
    dropped: int
