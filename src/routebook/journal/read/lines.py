"""Reads the lines of one segment, plain or rolled. Unreadable data is returned as Damage, not raised."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import zstandard

from routebook.journal.files import Files
from routebook.journal.segments import Segment

_CHUNK_BYTES: Final = 256 * 1024
_COMPRESSED_CHUNK_BYTES: Final = 4096  # repetitive data expands 300-fold, so 64 KiB would become 16 MiB at once


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """An unreadable range of a segment. `offset` counts bytes of the uncompressed text."""

    file: str
    line: int = 0
    offset: int = 0
    size: int = 0
    reason: str
    unfinished: bool = False  # the last line has no line feed: it is being written, or its writer crashed
    saved_as: str | None = None


class RawLine(msgspec.Struct, frozen=True):
    """A line without its line feed. `number` counts from 1, `end` is the offset after the line feed."""

    raw: bytes
    number: int
    offset: int

    @property
    def end(self) -> int:
        return self.offset + len(self.raw) + 1


def read_lines(
    files: Files,
    segment: Segment,
    *,
    offset: int = 0,
    number: int = 0,
    is_before: Callable[[bytes], bool] | None = None,
) -> Iterator[RawLine | Damage]:
    """Read the lines from `offset` on, after `number` earlier ones. Raises FileNotFoundError.

    `is_before` returns whether a line and all lines before it can be skipped; it is asked once per chunk.
    """
    chunks = _decompressed(files, segment) if segment.rolled else _plain(files, segment, offset)
    rest = b""
    for chunk in chunks:
        if isinstance(chunk, str):
            yield Damage(file=segment.name, line=number + 1, offset=offset, size=len(rest), reason=chunk)
            return
        *whole, rest = (rest + chunk).split(b"\n")
        if is_before is not None and whole and is_before(whole[-1]):
            number += len(whole)
            offset += sum(map(len, whole)) + len(whole)
            continue
        for raw in whole:
            number += 1
            yield RawLine(raw, number, offset)
            offset += len(raw) + 1
    if rest:
        yield Damage(
            file=segment.name,
            line=number + 1,
            offset=offset,
            size=len(rest),
            reason="the last line is incomplete",
            unfinished=True,
        )


def _plain(files: Files, segment: Segment, offset: int) -> Iterator[bytes | str]:
    with files.open(segment.name) as file:
        if offset:
            file.seek(offset)
        try:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk
        except OSError as problem:
            yield f"cannot be read: {problem.strerror}"


def _decompressed(files: Files, segment: Segment) -> Iterator[bytes | str]:
    decompressor = zstandard.ZstdDecompressor().decompressobj()
    with files.open(segment.name) as file:
        try:
            while not decompressor.eof and (chunk := file.read(_COMPRESSED_CHUNK_BYTES)):
                yield decompressor.decompress(chunk)
            if not decompressor.eof:
                yield "the compressed data ends early"
            elif decompressor.unused_data or file.read(1):
                yield "unexpected data after the compressed data"
        except OSError as problem:
            yield f"cannot be read: {problem.strerror}"
        except zstandard.ZstdError as problem:
            yield f"the compressed data is damaged: {problem}"


def damage_in(files: Files, segment: Segment) -> str | None:
    """Read a rolled segment to its end; return what is wrong with it. Raises FileNotFoundError if it was removed."""
    return next((chunk for chunk in _decompressed(files, segment) if isinstance(chunk, str)), None)


def text_of(files: Files, segment: Segment) -> bytes:
    """Return the text of a segment, up to the first unreadable byte. Raises FileNotFoundError."""
    chunks = _decompressed(files, segment) if segment.rolled else _plain(files, segment, 0)
    return b"".join(chunk for chunk in chunks if isinstance(chunk, bytes))
