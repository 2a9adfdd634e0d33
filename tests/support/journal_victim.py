"""A process that writes a journal until it is killed, and says on stdout which records it was told are durable."""

import sys
import time
from pathlib import Path

from routebook.events import ServerStopped
from routebook.journal.files import FolderFiles
from routebook.journal.opening import open_journal
from routebook.journal.options import JournalOptions


def main(folder: Path, boot: str) -> None:
    """Every seventh record is waited for; segments are small, so that rolling is hit too."""
    options = JournalOptions(commit_ms=1, segment_bytes=4000, batch_bytes=500)
    opened = open_journal(
        FolderFiles(folder), ns="n", boot=boot, options=options, now_ms=lambda: time.time_ns() // 1_000_000
    )
    writer = opened.writer
    writer.start()
    print("started", flush=True)
    while True:
        for _ in range(6):
            writer.append(ServerStopped(reason=boot), 1)
        seq = writer.append(ServerStopped(reason=f"durable {boot}"), 1)
        writer.durable(seq).result()
        print(seq, flush=True)


main(Path(sys.argv[1]), sys.argv[2])
