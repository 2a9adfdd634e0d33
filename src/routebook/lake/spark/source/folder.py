"""Reads journal folders: lists segments by sequence number, and yields their lines between two numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from routebook.errors import UsageError
from routebook.journal.files import FolderFiles
from routebook.journal.read.lines import Damage, read_lines
from routebook.journal.segments import OPEN_SUFFIX, ROLLED_SUFFIX, Segment, list_segments
from routebook.lake.spark.source.columns import NotAnEvent, decoded

_MAX_DEPTH: Final = 3
_TAIL_BYTES: Final = 1 << 16


class SegmentRange(NamedTuple):
    """The records of one segment with `after < seq <= upto`."""

    folder: str
    first: int  # identifies the segment: its name changes when it is rolled
    after: int
    upto: int | None


class Journal:
    """One folder with the segments of one NameServer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def segments(self) -> tuple[Segment, ...]:
        return list_segments(FolderFiles(self.folder).names()).segments

    def ns(self) -> str | None:
        """The id of the NameServer; None if the journal is empty."""
        for segment in self.segments():
            for line in read_lines(FolderFiles(self.folder), segment):
                if not isinstance(line, Damage):
                    return str(decoded(line.raw, f"{segment.name}:1")["ns"])
        return None

    def last(self) -> int:
        """The newest number on disk; 0 if there is none."""
        for segment in reversed(self.segments()):
            if segment.span is not None:
                return segment.span.last
            if found := _last_of(self.folder / segment.name):
                return found
        return 0

    def ranges(self, *, after: int, upto: int | None) -> list[SegmentRange]:
        """The segments that contain records between two numbers."""
        segments = self.segments()
        found = []
        for number, segment in enumerate(segments):
            following = segments[number + 1].first if number + 1 < len(segments) else None
            ended = segment.span.last if segment.span is not None else None
            if ended is None and following is not None:
                ended = following - 1
            if (ended is None or ended > after) and (upto is None or segment.first <= upto):
                found.append(SegmentRange(str(self.folder), segment.first, after, upto))
        return found


def journals(path: str) -> list[Journal]:
    """The folder itself and all folders below it with segments, as in `home/journal` or the output of `fleet
    simulate`.
    """
    top = Path(path.removeprefix("file://")).expanduser()
    if not top.is_dir():
        raise UsageError(f"{path}: no such folder; set `path` to a journal folder or a folder of several")
    found = [top] if _has_segments(top) else []
    level = [top]
    for _ in range(_MAX_DEPTH):
        level = [child for folder in level for child in sorted(folder.iterdir()) if child.is_dir()]
        found += [folder for folder in level if _has_segments(folder)]
    return [Journal(folder) for folder in found]


def lines(part: SegmentRange) -> Iterator[tuple[bytes, str]]:
    """Each line of the segment with its location, without the incomplete last line of an open segment."""
    files = FolderFiles(Path(part.folder))
    for _ in range(2):
        segment = _segment(files, part.first)
        if segment is None:
            return  # removed by retention: visible as a gap in the numbers
        try:
            yield from _lines(files, segment, part)
        except FileNotFoundError:
            continue  # rolled since it was listed
        return


def _lines(files: FolderFiles, segment: Segment, part: SegmentRange) -> Iterator[tuple[bytes, str]]:
    where = f"{part.folder}/{segment.name}"
    for line in read_lines(files, segment):
        if isinstance(line, Damage):
            if line.unfinished and not segment.rolled:
                return
            raise NotAnEvent(f"{where}:{line.line}: {line.reason}")
        yield line.raw, f"{where}:{line.number}"


def _segment(files: FolderFiles, first: int) -> Segment | None:
    return next((one for one in list_segments(files.names()).segments if one.first == first), None)


def _has_segments(folder: Path) -> bool:
    return any(entry.name.endswith((OPEN_SUFFIX, ROLLED_SUFFIX)) and entry.is_file() for entry in folder.iterdir())


def _last_of(path: Path) -> int | None:
    """The number of the last complete line of an open segment, read from its end."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            wanted = _TAIL_BYTES
            while True:
                file.seek(max(0, size - wanted))
                text = file.read(min(wanted, size))
                whole, end, _ = text.rpartition(b"\n")
                begin = whole.rfind(b"\n")
                if end and (begin >= 0 or wanted >= size):
                    return int(decoded(whole[begin + 1 :], str(path))["seq"])
                if wanted >= size:
                    return None
                wanted *= 8
    except FileNotFoundError:
        return None
