"""Spark settings by the size of the input: for small ones, planning and compiling take longer than processing."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

_PARTITIONS: Final = "spark.sql.shuffle.partitions"
_MIN_PARTITIONS: Final = 4
_PARTITIONS_OF_CORE: Final = 3
_OF_SESSION: Final = {
    _PARTITIONS: "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "256m",  # joins without exchange and sort
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SETTINGS: Final = {
    **_OF_SESSION,
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms512m",  # the fast compiler only
}
MAX_ROWS: Final = 100_000  # with more, generated code saves more than it costs
MAX_BYTES: Final = 4 << 20  # of segments and lake files together; segments are compressed about 20 times


def fit(session: SparkSession, rows: int) -> None:
    """Choose the session's settings for jobs over about this many rows on the cores that are registered now.

    Settings that were given to the session stay.
    """
    given = session.sparkContext.getConf()
    partitions = max(_MIN_PARTITIONS, _PARTITIONS_OF_CORE * session.sparkContext.defaultParallelism)
    chosen = _OF_SESSION if rows <= MAX_ROWS else {_PARTITIONS: str(partitions)}
    for key in _OF_SESSION:
        if given.get(key) is not None:
            continue
        if key in chosen:
            session.conf.set(key, chosen[key])
        else:
            session.conf.unset(key)


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
