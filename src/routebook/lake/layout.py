"""Names in a lake: its catalog, its files and folders, and its format version."""

from typing import Final

CATALOG: Final = "routebook"  # the name of the Iceberg catalog
CATALOG_FILE: Final = "catalog.db"
WAREHOUSE: Final = "warehouse"
CHECKPOINT: Final = "checkpoint"
LOG_FILE: Final = "spark.log"
FORMAT: Final = 1  # the newest lake format that this release reads and writes
FORMAT_PROPERTY: Final = "routebook.lake-format"  # a table property of `meta.builds`


def is_supported_format(written: str) -> bool:
    return written.isdigit() and int(written) <= FORMAT
