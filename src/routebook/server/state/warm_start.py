"""Warm start: recovers the last known routes from the newest snapshot and the journal records after it."""

import contextlib
import gc
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, get_args

import msgspec

from routebook.errors import HomeError, JournalError
from routebook.events import PermissionRestored, PermissionWiped, RouteEvent, ServerStarted, TopicDeleted
from routebook.journal.files import Files, FolderFiles
from routebook.journal.read.describe import describe_damage, describe_hole
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Hole, Line, read
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import MIB, JournalOptions
from routebook.journal.write.writer import Writer
from routebook.routes import RouteTable
from routebook.server.state.snapshots import LoadedSnapshot, load_newest
from routebook.settings import Settings

_ROUTE_EVENTS: Final = get_args(RouteEvent)
_SINGLE_EVENT_CHANGES: Final = (PermissionWiped, PermissionRestored, TopicDeleted)  # never followed by a second event


class RecoveredState(msgspec.Struct, frozen=True, kw_only=True):
    """The recovered tables, and the open journal, whose thread is not started yet."""

    ns: str
    boot: str
    journal: Writer
    routes: RouteTable
    recovered: int  # brokers that are served as before, until they return or expire
    cold: bool
    repairs: tuple[RouteEvent, ...]  # changes that made the tables consistent again
    replayed: int  # journal events since the snapshot
    problems: tuple[str, ...]  # for the log


def warm_start(
    home: Path, *, ns: str, settings: Settings, now_ms: int, wall_ms: Callable[[], int], cold: bool = False
) -> RecoveredState:
    """Load the snapshot of a home, open its journal and recover the tables; `cold` leaves them empty.

    Leases start at `now_ms`. Raises HomeError if the journal belongs to another NameServer or has a newer format. A
    journal that cannot be written only degrades the server.
    """
    folder = home / "journal"
    snapshot = load_newest(home / "snapshot", ns=ns)
    try:
        return recover_state(
            FolderFiles(folder),
            snapshot,
            ns=ns,
            settings=settings,
            now_ms=now_ms,
            wall_ms=wall_ms,
            cold=cold,
            audit=FolderFiles(home / "audit"),
        )
    except JournalError as problem:
        raise HomeError(
            f"cannot use the journal in {folder}: {problem}. routebook.journal.enabled=false starts without it"
        ) from None


def recover_state(
    files: Files,
    snapshot: LoadedSnapshot,
    *,
    ns: str,
    settings: Settings,
    now_ms: int,
    wall_ms: Callable[[], int],
    cold: bool = False,
    options: JournalOptions | None = None,
    audit: Files | None = None,
) -> RecoveredState:
    """Open the journal in `files` and replay its tail over `snapshot`. Raises JournalError."""
    boot = secrets.token_hex(6)
    opened = open_journal(
        files,
        ns=ns,
        boot=boot,
        options=options or journal_options(settings),
        now_ms=wall_ms,
        at_least=snapshot.last_seq + 1,
        audit=audit,
    )
    problems = [*snapshot.problems, *(f"journal: {describe_damage(damage)}" for damage in opened.damage)]
    if opened.found.torn_bytes:
        problems.append(f"journal: a torn last line of {opened.found.torn_bytes} bytes was cut off")
    replay = Replay() if cold else Replay(snapshot.routes)
    if not cold:
        with _paused_gc():
            _replay_tail(files, replay, problems, after=snapshot.seq, before=opened.found.next_seq)
        hole = opened.found.skipped
        if hole is not None and hole.last > snapshot.seq:
            replay.apply(hole)  # a read-only journal does not contain it yet
    repairs = replay.routes.remove_orphans()
    recovered = replay.routes.begin_leases(now_ms, max_ms=settings.recovered_lease_s * 1000, uncertain=replay.uncertain)
    return RecoveredState(
        ns=ns,
        boot=boot,
        journal=opened.writer,
        routes=replay.routes,
        recovered=recovered,
        cold=cold,
        repairs=repairs.events,
        replayed=replay.events,
        problems=tuple(problems),
    )


def journal_options(settings: Settings) -> JournalOptions:
    """The journal's options from the settings."""
    journal = settings.journal
    age_s = JournalOptions().segment_age_s
    return JournalOptions(
        commit_ms=journal.commit_ms,
        segment_age_s=min(age_s, journal.archive_roll_s) if journal.archive_url else age_s,
        segment_bytes=journal.segment_mib * MIB,
        retain_age_s=journal.retain_days * 86_400,
        retain_bytes=journal.retain_mib * MIB,
        audit_retain_age_s=journal.audit_days * 86_400,
        audit_retain_bytes=journal.audit_mib * MIB,
    )


class Replay:
    """Applies journal items to tables, and tracks which brokers may be incomplete after missing records."""

    def __init__(self, routes: RouteTable | None = None) -> None:
        self.routes = routes if routes is not None else RouteTable()
        self.uncertain: set[str] | None = set()  # broker names; None: all
        self.events = 0
        self._last_broker = ""

    def apply(self, item: Line | Hole | Damage) -> None:
        """Apply the next item of the journal."""
        if isinstance(item, Line):
            event = item.record.event
            if isinstance(event, _ROUTE_EVENTS):
                self.events += 1
                self._last_broker = "" if isinstance(event, _SINGLE_EVENT_CHANGES) else event.broker
                if not self.routes.apply(event, now_ms=0):
                    self.uncertain = None
            elif isinstance(event, ServerStarted) and event.cold:
                self.routes, self.uncertain = RouteTable(), set()
        elif isinstance(item, Hole) and not item.certain:
            # a crash: only the last change can be incomplete
            if self.uncertain is not None and self._last_broker:
                self.uncertain.add(self._last_broker)
        else:
            self.uncertain = None


def _replay_tail(files: Files, replay: Replay, problems: list[str], *, after: int, before: int) -> None:
    """Apply the records between the sequence numbers `after` and `before`."""
    for item in read(files, from_seq=after + 1):
        if isinstance(item, Damage):
            problems.append(f"journal: {describe_damage(item)}")
        elif isinstance(item, Hole):
            if item.certain:
                problems.append(f"journal: {describe_hole(item)}")
        elif item.record.seq >= before:
            break  # written by this start
        replay.apply(item)


@contextlib.contextmanager
def _paused_gc() -> Iterator[None]:
    """Pause garbage collection: a replay creates millions of objects and discards almost none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
