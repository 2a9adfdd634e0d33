"""The last known routes at a start: the newest snapshot, and what the journal tells since."""

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
from routebook.server.state.snapshot_file import Found, find_newest
from routebook.settings import Settings

_ROUTE_EVENTS: Final = get_args(RouteEvent)
_WHOLE: Final = (PermissionWiped, PermissionRestored, TopicDeleted)  # all that there is to tell of their change


class RecoveredState(msgspec.Struct, frozen=True, kw_only=True):
    """What a NameServer knows from before, and the journal it goes on with. `journal` is not started yet."""

    ns: str
    boot: str
    journal: Writer
    routes: RouteTable
    recovered: int  # brokers that are served as before, until they return or expire
    cold: bool
    mended: tuple[RouteEvent, ...]  # what had to be put right in the tables
    replayed: int  # events since the snapshot
    wrong: tuple[str, ...]  # for an operator to know


class Replay:
    """Tables that events are told to, one after another; and what may be wrong with them after a hole."""

    def __init__(self, routes: RouteTable | None = None) -> None:
        self.routes = routes if routes is not None else RouteTable()
        self.doubted: set[str] | None = set()  # groups whose last words may be lost; None: all of them
        self.events = 0
        self.misfits = 0
        self._last = ""

    def tell(self, item: Line | Hole | Damage) -> None:
        """What comes next in the journal."""
        if isinstance(item, Line):
            event = item.record.event
            if isinstance(event, _ROUTE_EVENTS):
                self.events += 1
                self._last = "" if isinstance(event, _WHOLE) else event.broker
                if not self.routes.apply(event, now_ms=0):
                    self.misfits += 1
                    self.doubted = None
            elif isinstance(event, ServerStarted) and event.cold:
                self.routes, self.doubted = RouteTable(), set()
        elif isinstance(item, Hole) and not item.certain:
            # a crash: only the very last change may be there in part
            if self.doubted is not None and self._last:
                self.doubted.add(self._last)
        else:
            self.doubted = None


def journal_options(settings: Settings) -> JournalOptions:
    """As the settings say."""
    journal = settings.journal
    return JournalOptions(
        commit_ms=journal.commit_ms,
        segment_bytes=journal.segment_mib * MIB,
        retain_age_s=journal.retain_days * 86_400,
        retain_bytes=journal.retain_mib * MIB,
    )


def warm_start(
    home: Path, *, ns: str, settings: Settings, now_ms: int, wall_ms: Callable[[], int], cold: bool = False
) -> RecoveredState:
    """Open the journal of a home and recover the tables; leases begin at `now_ms`. `cold` begins with empty ones.

    Raises HomeError if the journal is not ours to continue. One that cannot be written only degrades the server.
    """
    folder = home / "journal"
    found = find_newest(home / "snapshot", ns=ns)
    try:
        return recover_state(
            FolderFiles(folder), found, ns=ns, settings=settings, now_ms=now_ms, wall_ms=wall_ms, cold=cold
        )
    except JournalError as problem:
        raise HomeError(
            f"the journal in {folder} cannot be used: {problem}. routebook.journal.enabled=false starts without it"
        ) from None


def recover_state(
    files: Files,
    found: Found,
    *,
    ns: str,
    settings: Settings,
    now_ms: int,
    wall_ms: Callable[[], int],
    cold: bool = False,
    options: JournalOptions | None = None,
) -> RecoveredState:
    """The same from a journal and a snapshot, wherever they are. Raises JournalError."""
    boot = secrets.token_hex(6)
    opened = open_journal(
        files,
        ns=ns,
        boot=boot,
        options=options or journal_options(settings),
        now_ms=wall_ms,
        at_least=found.last_seq + 1,
    )
    wrong = [*found.wrong, *(f"journal: {describe_damage(damage)}" for damage in opened.damage)]
    if opened.found.torn_bytes:
        wrong.append(f"journal: a torn last line of {opened.found.torn_bytes} bytes was cut off")
    if cold:
        fold = Replay()
    else:
        with _without_collection():
            fold = recover(files, found, wrong, before=opened.found.next_seq)
        hole = opened.found.skipped
        if hole is not None and hole.last > found.seq:
            fold.tell(hole)  # a journal that cannot be written does not tell it itself
    mended = fold.routes.mend()
    recovered = fold.routes.begin_leases(now_ms, most_ms=settings.recovered_lease_s * 1000, doubted=fold.doubted)
    return RecoveredState(
        ns=ns,
        boot=boot,
        journal=opened.writer,
        routes=fold.routes,
        recovered=recovered,
        cold=cold,
        mended=mended.events,
        replayed=fold.events,
        wrong=tuple(wrong),
    )


def recover(files: Files, found: Found, wrong: list[str], *, before: int) -> Replay:
    """The tables from the snapshot and from what follows it in the journal, up to number `before`."""
    fold = Replay(found.routes)
    for item in read(files, from_seq=found.seq + 1):
        if isinstance(item, Damage):
            wrong.append(f"journal: {describe_damage(item)}")
        elif isinstance(item, Hole):
            if item.certain:
                wrong.append(f"journal: {describe_hole(item)}")
        elif item.record.seq >= before:
            break  # this start's own
        fold.tell(item)
    return fold


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Millions of objects come into being, and all of them stay: looking for garbage among them takes its time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
