"""The registry of all lake tables, in the order in which documents and `lake tables` list them."""

from typing import Final

from routebook.lake.tables import bronze, gold, meta, silver
from routebook.lake.tables.table import Table

_ALL: Final = (
    gold.BROKER_SESSIONS,
    gold.BROKER_AVAILABILITY_DAILY,
    gold.BROKER_FLAPS,
    gold.HEARTBEAT_QUALITY,
    gold.DETECTOR_TRADEOFF,
    gold.ROUTE_TIMELINE,
    gold.NS_DIVERGENCE,
    gold.CONVERGENCE,
    gold.TOPIC_PLACEMENT,
    gold.OUTAGE_IMPACT,
    gold.LOOKUP_DEMAND,
    gold.ADMIN_AUDIT,
    gold.ELECTIONS,
    gold.SYNC_STATE,
    silver.OBSERVED,
    silver.BROKER_SPANS,
    silver.PROTECTIONS,
    silver.TOPIC_SPANS,
    silver.DIFFERENCES,
    silver.LOOKUP_HOURS,
    bronze.EVENTS,
    bronze.QUARANTINE,
    meta.BUILDS,
    meta.HOLES,
    meta.RETIRED,
)
TABLES: Final[dict[str, Table]] = {table.path: table for table in _ALL}
"""Every table by its path, such as `gold.broker_sessions`."""


def description_of(path: str) -> str:
    """The one-line description of a table; empty for a table that this release does not declare."""
    table = TABLES.get(path)
    return "" if table is None else table.doc


def meaning_of(path: str, column: str) -> str:
    """The sentence about a column; empty for a column that this release does not declare."""
    table = TABLES.get(path)
    return next((one.doc for one in table.declared if one.name == column), "") if table is not None else ""
