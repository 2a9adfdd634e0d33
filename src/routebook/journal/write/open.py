"""Opens a journal for writing: looks at what is there, puts right what a crash left, and goes on with the numbers."""

from collections.abc import Callable

import msgspec

from routebook.journal.files import Files
from routebook.journal.read.lines import Damage
from routebook.journal.record import RecordEncoder
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.recover import Inspection, inspect, repair
from routebook.journal.write.writer import Writer


class Opened(msgspec.Struct, frozen=True):
    """A writer that is not started yet, and how the journal was found."""

    writer: Writer
    found: Inspection
    damage: tuple[Damage, ...]  # and where it was set aside


def open_journal(
    files: Files,
    *,
    ns: str,
    boot: str,
    options: JournalOptions,
    now_ms: Callable[[], int],
    at_least: int = 1,
) -> Opened:
    """Open the journal of `ns` for this start, `boot`. A disk that does not take the repair only degrades it.

    `at_least` is the least number to go on with, where a snapshot knows of numbers that the folder may have lost.
    Raises JournalError if the journal is not ours to continue.
    """
    found = inspect(files, ns=ns, at_least=at_least, options=options)
    damage = list(found.damage)

    def prepare() -> None:
        damage[:] = repair(files, found)
        writer.upkeep.finished({done.segment.name: done.span for done in found.examined if done.span is not None})

    writer = Writer(
        files,
        encoder=RecordEncoder(ns=ns, boot=boot),
        next_seq=found.next_seq,
        options=options,
        now_ms=now_ms,
        prepare=prepare,
    )
    hole = found.passed_over
    if hole is not None:
        writer.passed_over(hole.first, hole.last, why=hole.why or "unknown", certain=hole.certain)
    writer.commit()  # repairs, and reserves numbers; a failure is tried again by the writer's thread
    return Opened(writer, found, tuple(damage))
