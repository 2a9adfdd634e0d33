"""The lines of one segment, rolled or not, with their places; what cannot be read comes as damage, not as an error."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import zstandard

from routebook.journal.files import Files
from routebook.journal.segments import Segment

_CHUNK_BYTES: Final = 256 * 1024


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a segment that cannot be read. `offset` counts bytes of the uncompressed text."""

    file: str
    line: int = 0
    offset: int = 0
    size: int = 0
    reason: str
    unfinished: bool = False  # the newest line has no end: it is being written, or its writer crashed
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
    """The lines from `offset` on, of which `number` came before. Raises FileNotFoundError if the segment is gone.

    `is_before` tells of a line that all before it are of no interest, nor is it: so whole chunks are passed over.
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
            reason="the last line has no end",
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
            while not decompressor.eof and (chunk := file.read(_CHUNK_BYTES // 4)):
                yield decompressor.decompress(chunk)
            if not decompressor.eof:
                yield "the compressed data ends early"
            elif decompressor.unused_data or file.read(1):
                yield "something follows the compressed data"
        except OSError as problem:
            yield f"cannot be read: {problem.strerror}"
        except zstandard.ZstdError as problem:
            yield f"the compressed data is damaged: {problem}"


def text_of(files: Files, segment: Segment) -> bytes:
    """The whole text of a segment, up to where it can be read. Raises FileNotFoundError if the segment is gone."""
    chunks = _decompressed(files, segment) if segment.rolled else _plain(files, segment, 0)
    return b"".join(chunk for chunk in chunks if isinstance(chunk, bytes))
