"""Opens a journal for writing: inspects it, repairs what a crash left behind, and continues the sequence numbers."""

from collections.abc import Callable

import msgspec

from routebook.journal.chain import Chain
from routebook.journal.files import Files
from routebook.journal.read.lines import Damage
from routebook.journal.record import RecordEncoder
from routebook.journal.write.audit import AuditStream, chain_at_end
from routebook.journal.write.options import JournalOptions
from routebook.journal.write.recover import Inspection, inspect, repair
from routebook.journal.write.writer import Writer


class Opened(msgspec.Struct, frozen=True):
    """A writer that is not started yet, and the state in which the journal was found."""

    writer: Writer
    found: Inspection
    damage: tuple[Damage, ...]  # with the file it was set aside in


def open_journal(
    files: Files,
    *,
    ns: str,
    boot: str,
    options: JournalOptions,
    now_ms: Callable[[], int],
    at_least: int = 1,
    audit: Files | None = None,
) -> Opened:
    """Open the journal of `ns` for this start, `boot`. If the disk rejects the repair, the journal starts degraded.

    `at_least` is the minimum next sequence number; a snapshot may know of numbers that the folder lost. `audit` is the
    folder for records of administrators that expire from the journal; None: they are removed.
    Raises JournalError if the journal belongs to another NameServer or format, or cannot be read.
    """
    found = inspect(files, ns=ns, at_least=at_least, options=options)
    damage = list(found.damage)

    def prepare() -> Chain:
        damage[:] = repair(files, found)
        writer.roller.finished({done.segment.name: done.span for done in found.examined if done.span is not None})
        return chain_at_end(files)

    writer = Writer(
        files,
        encoder=RecordEncoder(ns=ns, boot=boot),
        next_seq=found.next_seq,
        options=options,
        now_ms=now_ms,
        prepare=prepare,
        audit=None if audit is None else AuditStream(audit, options=options, now_ms=now_ms),
    )
    hole = found.skipped
    if hole is not None:
        writer.record_skipped(hole.first, hole.last, why=hole.why or "unknown", certain=hole.certain)
    writer.commit()  # repairs and reserves numbers; the writer thread retries a failure
    return Opened(writer, found, tuple(damage))
