"""Spark settings for small inputs, for which planning and compiling take longer than processing."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

SETTINGS: Final = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # the fast compiler only
}
MAX_BYTES: Final = 4 << 20  # of segments and lake files together; segments are compressed about 20 times


def is_small(folders: Iterable[Path | None]) -> bool:
    """Whether the files in these folders have few bytes together; False if one is not local (None)."""
    left = MAX_BYTES
    for folder in folders:
        if folder is None:
            return False
        for parent, _, names in os.walk(folder):
            for name in names:
                left -= _size(Path(parent, name))
                if left < 0:
                    return False
    return True


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # removed since it was listed
        return 0
