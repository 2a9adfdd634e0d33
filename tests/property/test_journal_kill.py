"""kill -9, dozens of times on one journal: what was reported durable is there."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from routebook.journal.files import FolderFiles
from routebook.journal.read.lines import Damage
from routebook.journal.read.reader import Line, read
from routebook.journal.read.verify import verify
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions

WRITER = Path(__file__).parent.parent / "support" / "journal_writer_process.py"
KILLS = 36


def killed_after(folder: Path, boot: str, reports: int) -> list[int]:
    """Let a process write, kill it after so many reports, and give them and those that were under way."""
    victim = subprocess.Popen([sys.executable, WRITER, folder, boot], stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    with victim.stdout as lines:
        assert lines.readline() == "started\n"
        reported = [int(lines.readline()) for _ in range(reports)]
        victim.kill()
        reported += [int(line) for line in lines if line.endswith("\n")]
    victim.wait()
    return reported


@pytest.mark.slow
def test_kill_9_loses_nothing_that_was_durable(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    files = FolderFiles(folder)
    rng = random.Random(7)
    durable: set[int] = set()
    for kill in range(KILLS):
        reported = killed_after(folder, f"b{kill}", rng.randint(0, 40))
        assert not durable & set(reported), "no number is used twice"
        durable |= set(reported)
        items = list(read(files))
        seqs = [item.record.seq for item in items if isinstance(item, Line)]
        assert seqs == sorted(set(seqs))
        assert durable <= set(seqs)
        assert all(item.unfinished for item in items if isinstance(item, Damage))
    last = open_journal(files, ns="n", boot="last", options=JournalOptions(), now_ms=lambda: 1)
    assert last.writer.stop()
    report = verify(files)
    assert report.whole
    assert report.boots == KILLS + 1
    assert len(report.skipped) == KILLS, "each crash passed over some numbers, and says so"
