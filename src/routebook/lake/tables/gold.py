"""The gold tables: what people ask for. Declared without Spark."""

from typing import Final

from routebook.lake.tables import gold_routes as route_tables
from routebook.lake.tables.table import Grows, Layer, Table

BROKER_SESSIONS: Final = Table(
    name="broker_sessions",
    layer=Layer.GOLD,
    doc="Each time that a broker was up at a NameServer: from when to when, and why it ended",
    key=("ns", "cluster", "broker", "addr", "from_seq"),
    grows=Grows.BY_SEQ,
    partition="days(ended_at)",
    span=("started_at", "ended_at"),
    tells_end=("end_reason", "planned", "duration_s"),
    columns="""
        ns string, cluster string, broker string, broker_id bigint, addr string,
        started_at timestamp, ended_at timestamp, end_reason string, planned boolean, duration_s double,
        began string, role_switches int, from_seq bigint, to_seq bigint
    """,
)
BROKER_AVAILABILITY_DAILY: Final = Table(
    name="broker_availability_daily",
    layer=Layer.GOLD,
    doc="How much of each day (UTC) a broker was up, as each NameServer saw it; outages, MTBF and MTTR",
    key=("day", "ns", "cluster", "broker", "addr"),
    grows=Grows.BY_DAY,
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
    doc="Stretches in which a broker went and came again and again; whether the broker or the NameServer is to blame",
    key=("day", "ns", "cluster", "broker", "addr", "window_start"),
    grows=Grows.ALL_BY_DAY,
    partition="day",
    columns="""
        ns string, cluster string, broker string, addr string, window_start timestamp, window_end timestamp,
        transitions int, brokers_flapping int, scope string, day date, from_seq bigint
    """,
)
HEARTBEAT_QUALITY: Final = Table(
    name="heartbeat_quality",
    layer=Layer.GOLD,
    doc="How regularly a broker gave sign of life on a day (UTC): gaps between heartbeats, with their histogram",
    key=("day", "ns", "cluster", "broker", "addr"),
    grows=Grows.BY_DAY,
    partition="day",
    columns="""
        day date, ns string, cluster string, broker string, addr string, beats bigint,
        gap_p50_ms bigint, gap_p99_ms bigint, gap_max_ms bigint, gaps map<string, bigint>
    """,
)
DETECTOR_TRADEOFF: Final = Table(
    name="detector_tradeoff",
    layer=Layer.GOLD,
    doc="What each heartbeat timeout would cost in false alarms and bring in speed; the one to set, and why",
    key=("ns", "cluster", "detector", "candidate"),
    grows=Grows.WHOLE,
    columns="""
        ns string, cluster string, detector string, candidate double, timeout_ms bigint,
        false_suspicions_per_broker_day double, mean_detection_s double, recommended boolean, reason string,
        brokers int, broker_days double, beats bigint
    """,
)
ADMIN_AUDIT: Final = route_tables.ADMIN_AUDIT
CONVERGENCE: Final = route_tables.CONVERGENCE
LOOKUP_DEMAND: Final = route_tables.LOOKUP_DEMAND
NS_DIVERGENCE: Final = route_tables.NS_DIVERGENCE
OUTAGE_IMPACT: Final = route_tables.OUTAGE_IMPACT
ROUTE_TIMELINE: Final = route_tables.ROUTE_TIMELINE
TOPIC_PLACEMENT: Final = route_tables.TOPIC_PLACEMENT
