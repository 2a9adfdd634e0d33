"""Opens a lake for the commands that read it without a JVM."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from routebook.cli.framework import option

if TYPE_CHECKING:
    from routebook.lake.read.reader import Lake

_MEMORY_MB: Final = 2048

as_of_option = option("--as-of", metavar="TIME|BUILD", help="The tables as published at this time or by this build.")


def open_for_reading(lake: str) -> "Lake":
    """Open the lake in this folder."""
    from routebook.lake.read.open import open_lake

    return open_lake(Path(lake).expanduser(), memory_mb=_MEMORY_MB)
