"""Opens a lake for reading; imports PyIceberg and DuckDB only when called."""

from pathlib import Path
from typing import TYPE_CHECKING

from routebook.lake.errors import LakeExtraMissing

if TYPE_CHECKING:
    from routebook.lake.read.reader import Lake


def open_lake(path: str | Path, *, memory_mb: int = 512) -> "Lake":
    """Open the lake of a folder or a lake.toml; the first call in a process takes about a second.

    Raises NoLake, NewerLake, BrokenLake, LakeExtraMissing.
    """
    try:
        from routebook.lake.read.reader import Lake  # noqa: PLC0415  # a slow import
    except ModuleNotFoundError as error:
        raise LakeExtraMissing(error.name or "a package") from None
    return Lake.open(path, memory_mb=memory_mb)
