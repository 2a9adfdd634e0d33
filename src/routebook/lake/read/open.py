"""Open a lake: the one door to reading, which loads PyIceberg and DuckDB only when somebody goes through it."""

from pathlib import Path
from typing import TYPE_CHECKING

from routebook.lake.errors import LakeExtraMissing

if TYPE_CHECKING:
    from routebook.lake.read.reader import Lake


def open_lake(path: str | Path, *, memory_mb: int = 512) -> "Lake":
    """Takes about a second the first time in a process. Raises NoLake, NewerLake, BrokenLake, LakeExtraMissing."""
    try:
        from routebook.lake.read.reader import Lake  # noqa: PLC0415 - a server without readers need not carry it
    except ModuleNotFoundError as error:
        raise LakeExtraMissing(error.name or "a package") from None
    return Lake.open(path, memory_mb=memory_mb)
