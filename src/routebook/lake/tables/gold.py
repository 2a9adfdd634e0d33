"""Declarations of the gold tables: the tables that users query."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

BROKER_SESSIONS: Final = Table(
    name="broker_sessions",
    layer=Layer.GOLD,
    doc="One row per interval in which a broker was registered at a NameServer, with the reason for its end",
    key=("ns", "cluster", "broker", "addr", "from_seq"),
    refresh=RefreshMode.BY_SEQ,
    partition="days(ended_at)",
    interval=("started_at", "ended_at"),
    end_columns=("end_reason", "planned", "duration_s"),
    columns="""
        ns string, cluster string, broker string, broker_id bigint, addr string,
        started_at timestamp, ended_at timestamp, end_reason string, planned boolean, duration_s double,
        began string, role_switches int, from_seq bigint, to_seq bigint
    """,
)
BROKER_AVAILABILITY_DAILY: Final = Table(
    name="broker_availability_daily",
    layer=Layer.GOLD,
    doc="Availability of each broker per day (UTC) and NameServer, with outages, MTBF and MTTR",
    key=("day", "ns", "cluster", "broker", "addr"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    columns="""
        day date, ns string, cluster string, broker string, addr string, observed_s double, up_s double,
        availability double, outages int, planned_outages int, mtbf_s double, mttr_s double,
        down_s double, planned_down_s double
    """,
)
BROKER_FLAPS: Final = Table(
    name="broker_flaps",
    layer=Layer.GOLD,
    doc="Intervals in which a broker flapped, and the likely cause: the broker or the NameServer",
    key=("day", "ns", "cluster", "broker", "addr", "window_start"),
    refresh=RefreshMode.ALL_BY_DAY,
    partition="day",
    columns="""
        ns string, cluster string, broker string, addr string, window_start timestamp, window_end timestamp,
        transitions int, brokers_flapping int, scope string, day date, from_seq bigint
    """,
)
HEARTBEAT_QUALITY: Final = Table(
    name="heartbeat_quality",
    layer=Layer.GOLD,
    doc="Gaps between the heartbeats of each broker per day (UTC): percentiles and histogram",
    key=("day", "ns", "cluster", "broker", "addr"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    columns="""
        day date, ns string, cluster string, broker string, addr string, beats bigint,
        gap_p50_ms bigint, gap_p99_ms bigint, gap_max_ms bigint, gaps map<string, bigint>
    """,
)
DETECTOR_TRADEOFF: Final = Table(
    name="detector_tradeoff",
    layer=Layer.GOLD,
    doc="False suspicions and detection time for each candidate heartbeat timeout, and the recommended one",
    key=("ns", "cluster", "detector", "candidate"),
    refresh=RefreshMode.WHOLE,
    columns="""
        ns string, cluster string, detector string, candidate double, timeout_ms bigint,
        false_suspicions_per_broker_day double, mean_detection_s double, recommended boolean, reason string,
        brokers int, broker_days double, beats bigint
    """,
)
ROUTE_TIMELINE: Final = Table(
    name="route_timeline",
    layer=Layer.GOLD,
    doc="Every version of a topic's route at a NameServer: brokers, queues, permissions and the cause of the change",
    key=("ns", "topic", "version"),
    refresh=RefreshMode.BY_SEQ,
    partition="days(valid_to)",
    interval=("valid_from", "valid_to"),
    columns="""
        ns string, topic string, version bigint, valid_from timestamp, valid_to timestamp,
        brokers array<string>, read_queues bigint, write_queues bigint, cause string,
        broker_count int, perms map<string, int>, from_seq bigint, to_seq bigint
    """,
)
NS_DIVERGENCE: Final = Table(
    name="ns_divergence",
    layer=Layer.GOLD,
    doc="Intervals in which two NameServers returned different routes for longer than propagation takes",
    key=("ns_a", "ns_b", "broker", "addr", "topic", "from_at"),
    refresh=RefreshMode.BY_TIME,
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
    doc="One change across all NameServers: when it reached the first and the last of them",
    key=("change_id",),
    refresh=RefreshMode.BY_TIME,
    partition="days(settled_at)",
    interval=("first_at", "settled_at"),
    columns="""
        change_id string, change string, topic string, broker string, addr string,
        first_at timestamp, last_at timestamp, nameservers int, spread_ms bigint,
        value string, seen array<struct<at: timestamp, ns: string, seq: bigint>>, settled_at timestamp
    """,
)
TOPIC_PLACEMENT: Final = Table(
    name="topic_placement",
    layer=Layer.GOLD,
    doc="Placement of each topic at the end of each day (UTC): brokers, queues, skew, single points of failure",
    key=("day", "ns", "cluster", "topic"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    columns="""
        day date, ns string, cluster string, topic string, brokers int, write_queues bigint, read_queues bigint,
        skew double, single_broker boolean, no_master boolean
    """,
)
OUTAGE_IMPACT: Final = Table(
    name="outage_impact",
    layer=Layer.GOLD,
    doc="Impact of each broker outage: affected topics, topics left without a broker, queues, look-ups during it",
    key=("ns", "cluster", "broker", "addr", "from_seq"),
    refresh=RefreshMode.BY_SEQ,
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
    doc="Route look-ups per hour (UTC), topic and client",
    key=("hour", "ns", "topic", "client", "language", "version", "others"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    columns="""
        hour timestamp, ns string, topic string, client string, language string, version int,
        lookups bigint, misses bigint, bytes bigint, others boolean, day date
    """,
)
ADMIN_AUDIT: Final = Table(
    name="admin_audit",
    layer=Layer.GOLD,
    doc="Admin requests, allowed and denied: KV, settings, permissions, topics, brokers",
    key=("ns", "seq", "target"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    columns="""
        at timestamp, ns string, peer string, who string, action string, target string, before string, after string,
        allowed boolean, code int, why string, day date, seq bigint
    """,
)
