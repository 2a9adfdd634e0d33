"""Declarations of the silver tables: intervals and hourly counts from which the gold tables are built."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

OBSERVED: Final = Table(
    name="observed",
    layer=Layer.SILVER,
    doc="One row per start of a NameServer: the interval in which it observed brokers",
    key=("ns", "boot"),
    refresh=RefreshMode.BY_SEQ,
    end_columns=("ended",),
    columns="""
        ns string, boot string, from_seq bigint, to_seq bigint, from_at timestamp, to_at timestamp,
        seen_until timestamp, ended string, recovered int, cold boolean,
        before_at timestamp, last_seq bigint, last_t timestamp, stop_seq bigint, stop_at timestamp
    """,
)
BROKER_SPANS: Final = Table(
    name="broker_spans",
    layer=Layer.SILVER,
    doc="Alternating up and down intervals of each broker at each NameServer",
    key=("ns", "cluster", "broker", "addr", "from_seq", "state"),
    refresh=RefreshMode.BY_SEQ,
    partition="days(to_at)",
    end_columns=("ended",),
    columns="""
        ns string, cluster string, broker string, addr string, broker_id bigint, state string,
        from_at timestamp, to_at timestamp, began string, ended string, planned boolean,
        roles array<struct<seq: bigint, at: timestamp, broker_id: bigint>>, first_id bigint,
        from_seq bigint, to_seq bigint
    """,
)
TOPIC_SPANS: Final = Table(
    name="topic_spans",
    layer=Layer.SILVER,
    doc="Intervals with constant queues and permission of one topic on one broker group at one NameServer",
    key=("ns", "broker", "topic", "from_seq"),
    refresh=RefreshMode.BY_SEQ,
    partition="days(to_at)",
    end_columns=("ended_by",),
    columns="""
        ns string, cluster string, broker string, topic string,
        perm int, read int, write int, flag int, cause string, ended_by string,
        from_at timestamp, to_at timestamp, from_seq bigint, to_seq bigint
    """,
)
DIFFERENCES: Final = Table(
    name="differences",
    layer=Layer.SILVER,
    doc="Differences between two NameServers about a topic or a broker: those that lasted and those still open",
    key=("ns_a", "ns_b", "kind", "broker", "item", "from_at"),
    refresh=RefreshMode.BY_TIME,
    partition="days(to_at)",
    columns="""
        ns_a string, ns_b string, kind string, broker string, item string, difference string,
        at_a string, at_b string, comparable boolean, topics bigint, from_at timestamp, to_at timestamp
    """,
)
LOOKUP_HOURS: Final = Table(
    name="lookup_hours",
    layer=Layer.SILVER,
    doc="Look-ups per topic and hour, with the counts per minute",
    key=("ns", "hour", "topic"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    columns="""
        ns string, hour timestamp, topic string,
        minutes array<struct<seq: bigint, minute: int, lookups: bigint>>, day date
    """,
)
