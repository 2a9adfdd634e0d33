"""The gold tables about routes, topics, look-ups and admin requests, declared."""

from typing import Final

from routebook.lake.tables.table import Grows, Layer, Table

ROUTE_TIMELINE: Final = Table(
    name="route_timeline",
    layer=Layer.GOLD,
    doc="Each version of a topic's route at a NameServer: brokers, queues, permissions, and what brought it about",
    key=("ns", "topic", "version"),
    grows=Grows.BY_SEQ,
    partition="days(valid_to)",
    span=("valid_from", "valid_to"),
    columns="""
        ns string, topic string, version bigint, valid_from timestamp, valid_to timestamp,
        brokers array<string>, read_queues bigint, write_queues bigint, cause string,
        broker_count int, perms map<string, int>, from_seq bigint, to_seq bigint
    """,
)
NS_DIVERGENCE: Final = Table(
    name="ns_divergence",
    layer=Layer.GOLD,
    doc="From when to when two NameServers told clients different things, for longer than a change needs to arrive",
    key=("ns_a", "ns_b", "broker", "addr", "topic", "from_at"),
    grows=Grows.BY_TIME,
    partition="days(to_at)",
    columns="""
        topic string, broker string, ns_a string, ns_b string, difference string,
        from_at timestamp, to_at timestamp, duration_s double,
        addr string, at_a string, at_b string, topics bigint
    """,
)
CONVERGENCE: Final = Table(
    name="convergence",
    layer=Layer.GOLD,
    doc="One change, over all NameServers: when the first and the last of them knew of it",
    key=("change_id",),
    grows=Grows.BY_TIME,
    partition="days(settled_at)",
    span=("first_at", "settled_at"),
    columns="""
        change_id string, change string, topic string, broker string, addr string,
        first_at timestamp, last_at timestamp, nameservers int, spread_ms bigint,
        value string, seen array<struct<at: timestamp, ns: string, seq: bigint>>, settled_at timestamp
    """,
)
TOPIC_PLACEMENT: Final = Table(
    name="topic_placement",
    layer=Layer.GOLD,
    doc="Where each topic lived at the end of each day (UTC): brokers, queues, how evenly, what hangs on one broker",
    key=("day", "ns", "cluster", "topic"),
    grows=Grows.BY_DAY,
    partition="day",
    columns="""
        day date, ns string, cluster string, topic string, brokers int, write_queues bigint, read_queues bigint,
        skew double, single_broker boolean, no_master boolean
    """,
)
OUTAGE_IMPACT: Final = Table(
    name="outage_impact",
    layer=Layer.GOLD,
    doc="What an outage of a broker meant: topics, those that no broker had any more, queues, look-ups meanwhile",
    key=("ns", "cluster", "broker", "addr", "from_seq"),
    grows=Grows.BY_SEQ,
    partition="days(to_at)",
    columns="""
        ns string, broker string, addr string, from_at timestamp, to_at timestamp, topics int,
        topics_without_broker int, write_queues_lost bigint, lookups_during bigint,
        cluster string, reason string, planned boolean, topic_names array<string>, orphans array<string>,
        lookups_by_day map<date, bigint>, from_seq bigint, to_seq bigint
    """,
)
LOOKUP_DEMAND: Final = Table(
    name="lookup_demand",
    layer=Layer.GOLD,
    doc="Who asked for which topic's route how often, by the hour (UTC)",
    key=("hour", "ns", "topic", "client", "language", "version", "others"),
    grows=Grows.BY_DAY,
    partition="day",
    columns="""
        hour timestamp, ns string, topic string, client string, language string, version int,
        lookups bigint, misses bigint, bytes bigint, others boolean, day date
    """,
)
ADMIN_AUDIT: Final = Table(
    name="admin_audit",
    layer=Layer.GOLD,
    doc="Who changed what, or was refused: KV, settings, permissions, topics, brokers sent away",
    key=("ns", "seq", "target"),
    grows=Grows.BY_DAY,
    partition="day",
    columns="""
        at timestamp, ns string, peer string, who string, action string, target string, before string, after string,
        allowed boolean, code int, why string, day date, seq bigint
    """,
)
