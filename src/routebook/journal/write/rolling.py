"""Rolls a finished segment: compressed under a temporary name, synced, renamed, and only then is the plain one removed.

Stop it anywhere: there is the plain segment, or the rolled one, or both with the same text; never neither.
"""

from typing import Final

import zstandard

from routebook.journal.files import Files
from routebook.journal.segments import TEMPORARY_SUFFIX, Span, rolled_name

_LEVEL: Final = 6
_CHUNK_BYTES: Final = 256 * 1024


def roll_segment(files: Files, name: str, span: Span) -> str:
    """Roll the segment `name`, whose records `span` describes; returns the rolled one's name. Raises OSError."""
    target = rolled_name(span)
    temporary = target + TEMPORARY_SUFFIX
    files.remove(temporary)
    with files.open(name) as plain:
        file = files.create(temporary)
        try:
            # a checksum, so that damage on disk is noticed; one plain frame, so that any zstd reader can read it
            compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()
            while chunk := plain.read(_CHUNK_BYTES):
                file.append(compressor.compress(chunk))
            file.append(compressor.flush())
            file.sync()
        finally:
            file.close()
    files.rename(temporary, target)
    files.remove(name)
    return target
