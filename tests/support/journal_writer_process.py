"""A process that writes a journal until it is killed, and says on stdout which records it was told are durable."""

import sys
import time
from pathlib import Path

from routebook.events import ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def say(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main(folder: Path, boot: str) -> None:
    """Every seventh record is waited for; segments are small, so that rolling is hit too."""
    options = JournalOptions(commit_ms=1, segment_bytes=4000, batch_bytes=500)
    opened = open_journal(FolderFiles(folder), ns="n", boot=boot, options=options, now_ms=now_ms)
    writer = opened.writer
    writer.start()
    say("started")
    while True:
        for _ in range(6):
            writer.append(ServerStopped(reason=boot), now_ms())
        seq = writer.append(ServerStopped(reason=f"durable {boot}"), now_ms())
        writer.durable(seq).result()
        say(seq)


main(Path(sys.argv[1]), sys.argv[2])
