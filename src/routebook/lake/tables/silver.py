"""The silver tables: what went on at each NameServer, as intervals. Declared without Spark."""

from typing import Final

from routebook.lake.tables import silver_routes as route_tables
from routebook.lake.tables.table import Grows, Layer, Table

OBSERVED: Final = Table(
    name="observed",
    layer=Layer.SILVER,
    doc="Each start of a NameServer: from when to when it watched",
    key=("ns", "boot"),
    grows=Grows.BY_SEQ,
    tells_end=("ended",),
    columns="""
        ns string, boot string, from_seq bigint, to_seq bigint, from_at timestamp, to_at timestamp,
        seen_until timestamp, ended string, recovered int, cold boolean,
        before_at timestamp, last_seq bigint, last_t timestamp, stop_seq bigint, stop_at timestamp
    """,
)
BROKER_SPANS: Final = Table(
    name="broker_spans",
    layer=Layer.SILVER,
    doc="Each broker at each NameServer, up and down by turns",
    key=("ns", "cluster", "broker", "addr", "from_seq", "state"),
    grows=Grows.BY_SEQ,
    partition="days(to_at)",
    tells_end=("ended",),
    columns="""
        ns string, cluster string, broker string, addr string, broker_id bigint, state string,
        from_at timestamp, to_at timestamp, began string, ended string, planned boolean,
        roles array<struct<seq: bigint, at: timestamp, broker_id: bigint>>, first_id bigint,
        from_seq bigint, to_seq bigint
    """,
)
DIFFERENCES: Final = route_tables.DIFFERENCES
LOOKUP_HOURS: Final = route_tables.LOOKUP_HOURS
TOPIC_SPANS: Final = route_tables.TOPIC_SPANS
