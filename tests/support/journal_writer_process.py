"""A process that writes a journal until it is killed, and prints the numbers of durable records."""

import sys
import time
from pathlib import Path

from routebook.events import ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def print_line(what: object) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main(folder: Path, boot: str) -> None:
    """Wait for every seventh record; segments are small, so that kills also hit rolling."""
    options = JournalOptions(commit_ms=1, segment_bytes=4000, batch_bytes=500)
    opened = open_journal(FolderFiles(folder), ns="n", boot=boot, options=options, now_ms=now_ms)
    writer = opened.writer
    writer.start()
    print_line("started")
    while True:
        for _ in range(6):
            writer.append(ServerStopped(reason=boot), now_ms())
        seq = writer.append(ServerStopped(reason=f"durable {boot}"), now_ms())
        writer.durable(seq).result()
        print_line(seq)


main(Path(sys.argv[1]), sys.argv[2])
