"""Declarations of the gold tables about routes: versions, differences between NameServers, propagation, placement."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

ROUTE_TIMELINE: Final = Table(
    name="route_timeline",
    layer=Layer.GOLD,
    doc="Every version of a topic's route at a NameServer: brokers, queues, permissions and the cause of the change",
    key=("ns", "topic", "version"),
    refresh=RefreshMode.BY_SEQ,
    partition="days(valid_to)",
    interval=("valid_from", "valid_to"),
    about="""
        A version consists of the broker groups that have the topic, with their queues and permissions. Addresses are in
        broker_sessions: a slave that restarts creates no new version of its routes. A topic without brokers has a
        version without brokers. Events with the same time are one version.
    """,
    columns="""
        ns string
        topic string
        version bigint -- Number of the version, from 1. | 3
        valid_from timestamp -- Begin of the version. | 2026-01-31 10:00:05
        valid_to timestamp -- End of the version; null while it is valid. | 2026-01-31 12:30:00
        brokers array<string> -- Broker groups that have the topic, sorted. | ["broker-a", "broker-b"]
        read_queues bigint -- Sum of the read queues of all brokers. | 16
        write_queues bigint -- Sum of the queues of all brokers with write permission. | 16
        cause string -- Change that began the version. | broker_down
        broker_count int -- Number of broker groups. | 2
        perms map<string, int> -- Permission of the topic on each broker: 4 is read, 2 is write. | {"broker-a": 6}
        from_seq bigint
        to_seq bigint
    """,
)
NS_DIVERGENCE: Final = Table(
    name="ns_divergence",
    layer=Layer.GOLD,
    doc="Intervals in which two NameServers returned different routes for longer than propagation takes",
    key=("ns_a", "ns_b", "broker", "addr", "topic", "from_at"),
    refresh=RefreshMode.BY_TIME,
    partition="days(to_at)",
    about="""
        A row is one difference that lasted at least 120 s while both NameServers ran. In the first 150 s after a start
        of a NameServer, a difference is normal: one that ends within this time is not reported, one that outlasts it is
        reported from its begin. Time in which a NameServer was down is not a divergence.

        | topic | addr | difference | means |
        |---|---|---|---|
        | null | address | missing_a, missing_b | ns_a (or ns_b) lacks this member, which has `topics` topics |
        | null | address | role | both have the member, one as master, the other as slave |
        | topic | null | missing_a, missing_b | both have the broker, ns_a (or ns_b) lacks the topic on it |
        | topic | null | queues, permission | both have the topic on the broker, with different queues or permission |

        A broker with ten thousand topics that loses its connection to one NameServer is one row per other NameServer,
        not ten thousand.
    """,
    columns="""
        topic string -- The topic that differs; null if a member of the broker group differs. | orders
        broker string
        ns_a string
        ns_b string
        difference string -- What differs: missing_a, missing_b, role, queues or permission. | missing_b
        from_at timestamp -- Begin of the difference. | 2026-01-31 10:00:05
        to_at timestamp -- End of the difference; null while it is open. | 2026-01-31 10:05:00
        duration_s double -- Length in seconds; null while it is open. | 295.0
        addr string -- Address of the member that differs; null if a topic differs. | 10.0.0.6:10911
        at_a string -- Value at ns_a when the difference began; null if missing. | master
        at_b string -- Value at ns_b when the difference began; null if missing. | slave
        topics bigint -- Number of topics of the broker of a missing member; null for others. | 24
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
    about="""
        | change | of |
        |---|---|
        | broker_up, broker_down | a member of a broker group with all its topics, which have no rows of their own |
        | role | a member that changed its broker id; `value` is the new id |
        | topic_added, topic_changed, topic_removed | a topic on a broker; `value` is its new permission and queues |
        | permission_wiped, permission_restored | all topics of a broker |

        NameServers number events independently, so a change is identified by its content: kind, broker, address, topic
        and value. Equal changes can repeat. In time order, an observation belongs to the previous change if that began
        at most 120 s ago and has no observation from the same NameServer yet; otherwise it begins a new change.
        ns_divergence shows the NameServers that did not observe a change. After a cold start, brokers register at one
        NameServer only: a change with one observation.
    """,
    columns="""
        change_id string -- Id of the change, computed from its content and first observation. | 9f86d081884c7d65
        change string -- Kind of the change. | topic_changed
        topic string -- The topic that changed; null for changes of a broker. | orders
        broker string
        addr string -- Address of the member that changed; null for changes of topics. | 10.0.0.6:10911
        first_at timestamp -- Time at the first NameServer. | 2026-01-31 10:00:05.100
        last_at timestamp -- Time at the last NameServer. | 2026-01-31 10:00:05.350
        nameservers int -- Number of NameServers that observed the change. | 3
        spread_ms bigint -- Time from the first to the last NameServer. | 250
        value string -- The new value, if the change has one. | perm 6, read 8, write 8
        seen array<struct<at: timestamp, ns: string, seq: bigint>>
            -- Observations in time order. | [{"at": "2026-01-31 10:00:05.100", "ns": "ns-1", "seq": 1041}]
        settled_at timestamp -- Time after which the row does not change: 120 s after `first_at`. | 2026-01-31 10:02:05
    """,
)
TOPIC_PLACEMENT: Final = Table(
    name="topic_placement",
    layer=Layer.GOLD,
    doc="Placement of each topic at the end of each day (UTC): brokers, queues, skew, single points of failure",
    key=("day", "ns", "cluster", "topic"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    about="""
        One row per NameServer that ran on the day. For the current day, and for a day at whose end the NameServer was
        down, it is the last known placement.
    """,
    columns="""
        day date
        ns string
        cluster string
        topic string
        brokers int -- Number of broker groups that have the topic. | 2
        write_queues bigint -- Sum of the queues of all brokers with write permission. | 16
        read_queues bigint -- Sum of the read queues of all brokers. | 16
        skew double
            -- Largest number of write queues on one broker divided by the mean (read queues without write queues):
            -- 1 is even, and with 2 one broker has twice its share. | 1.5
        single_broker boolean -- True if one broker group has the topic: without it, the topic has no route. | false
        no_master boolean -- True if no broker group of the topic has a master, so it accepts no writes. | false
    """,
)
