"""History without a running server: uses the index of a home if it is up to date, else a temporary copy."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from routebook.errors import HistoryError
from routebook.history import INDEX_NAME
from routebook.history.index.follower import why_unusable
from routebook.history.index.indexer import Indexer
from routebook.history.index.schema import Progress, Unusable, check, connect, open_index, read_progress
from routebook.history.query.history import History
from routebook.journal.files import FolderFiles
from routebook.journal.read.reader import newest, read

_BATCH_RECORDS: Final = 5000


@contextmanager
def open_offline(home: Path) -> Iterator[History]:
    """Open the history of a home without writing to it. Raises HistoryError."""
    files = FolderFiles(home / "journal")
    try:
        last = newest(files, 1, wanted=lambda _: True)
    except OSError as problem:
        raise HistoryError(f"{files.folder}: {problem.strerror}") from None
    if not last:
        raise HistoryError(f"{files.folder}: the journal is empty; pass the home of a server with --home")
    own = home / INDEX_NAME
    progress = _usable(own, files)
    if progress is not None and progress.last_seq >= last[-1].record.seq:
        yield from _open(own)
        return
    with TemporaryDirectory(prefix="routebook-history-") as folder:
        copy = Path(folder) / INDEX_NAME
        try:
            if progress is not None:
                _copy(own, copy)
            _index(copy, files)
        except (sqlite3.Error, OSError) as problem:
            raise HistoryError(f"the journal cannot be indexed in {folder}: {problem}") from None
        yield from _open(copy)


def _open(path: Path) -> Iterator[History]:
    history = History(path)
    try:
        yield history
    finally:
        history.close()


def _usable(path: Path, files: FolderFiles) -> Progress | None:
    """Return the progress of the index if it is readable and belongs to this journal."""
    if not path.exists():
        return None
    try:
        db = connect(path, read_only=True)
        try:
            check(db)
            progress = read_progress(db)
        finally:
            db.close()
    except (sqlite3.Error, Unusable):
        return None
    return None if progress.empty or why_unusable(files, progress) is not None else progress


def _copy(source: Path, target: Path) -> None:
    old, new = connect(source, read_only=True), connect(target)
    try:
        old.backup(new)
    finally:
        old.close()
        new.close()


def _index(path: Path, files: FolderFiles) -> None:
    db = open_index(path)
    try:
        db.execute("PRAGMA synchronous = OFF")  # temporary file
        indexer = Indexer(db)
        progress = indexer.progress
        for count, item in enumerate(read(files, from_seq=None if progress.empty else progress.last_seq + 1), 1):
            indexer.add(item)
            if not count % _BATCH_RECORDS:
                indexer.commit()
        indexer.commit()
    finally:
        db.close()
