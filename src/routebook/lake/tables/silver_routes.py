"""The silver tables that routes, divergence and impact are made of, declared."""

from typing import Final

from routebook.lake.tables.table import Grows, Layer, Table

TOPIC_SPANS: Final = Table(
    name="topic_spans",
    layer=Layer.SILVER,
    doc="The queues and permission of one topic on one broker group at one NameServer, from when to when",
    key=("ns", "broker", "topic", "from_seq"),
    grows=Grows.BY_SEQ,
    partition="days(to_at)",
    tells_end=("ended_by",),
    columns="""
        ns string, cluster string, broker string, topic string,
        perm int, read int, write int, flag int, cause string, ended_by string,
        from_at timestamp, to_at timestamp, from_seq bigint, to_seq bigint
    """,
)
DIFFERENCES: Final = Table(
    name="differences",
    layer=Layer.SILVER,
    doc="What two NameServers know otherwise of a topic or a broker: all that lasted, and all that is open",
    key=("ns_a", "ns_b", "kind", "broker", "item", "from_at"),
    grows=Grows.BY_TIME,
    partition="days(to_at)",
    columns="""
        ns_a string, ns_b string, kind string, broker string, item string, difference string,
        at_a string, at_b string, comparable boolean, topics bigint, from_at timestamp, to_at timestamp
    """,
)
LOOKUP_HOURS: Final = Table(
    name="lookup_hours",
    layer=Layer.SILVER,
    doc="Look-ups of a topic by the hour, and in it by the minute",
    key=("ns", "hour", "topic"),
    grows=Grows.BY_DAY,
    partition="day",
    columns="""
        ns string, hour timestamp, topic string,
        minutes array<struct<seq: bigint, minute: int, lookups: bigint>>, day date
    """,
)
