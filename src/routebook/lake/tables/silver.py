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
    about="""
        The state of a broker is unknown while its NameServer is down, so that time is not an outage. A row is closed
        (`to_seq`) by the first event of the next start; a clean stop sets `stop_seq` and `stop_at` before that.

        A crash has no event. The NameServer ran at least until its last event (`seen_until`). It ended before the next
        start and, because it writes the heartbeats of every minute, at most 60 s after its last event. `to_at` is the
        earlier of these two upper bounds.
    """,
    columns="""
        ns string
        boot string
        from_seq bigint -- Number of the first event of the start. | 1041
        to_seq bigint -- Number of the first event of the next start; null for the last start. | 1187
        from_at timestamp -- Begin of the observation. | 2026-01-31 10:00:00
        to_at timestamp
            -- End of the observation, after a crash its upper bound; null while the NameServer runs.
            -- | 2026-01-31 18:00:00
        seen_until timestamp
            -- Time of the clean stop, or of the last event, which is the lower bound of the end after a crash.
            -- | 2026-01-31 18:00:00
        ended string -- How the start ended: stopped or crashed; null while the NameServer runs. | stopped
        recovered int -- Brokers recovered at the start. | 6
        cold boolean -- True if the tables started empty although brokers may have been registered. | false
        before_at timestamp -- `to_at` of the start before this one. | 2026-01-31 09:59:58
        last_seq bigint -- Number of the last event of the start. | 1186
        last_t timestamp -- Time of the last event that is not a roll-up. | 2026-01-31 17:58:11
        stop_seq bigint -- Number of `server_stopped`; null without a clean stop. | 1186
        stop_at timestamp -- Time of `server_stopped`; null without a clean stop. | 2026-01-31 18:00:00
    """,
)
BROKER_SPANS: Final = Table(
    name="broker_spans",
    layer=Layer.SILVER,
    doc="Alternating up and down intervals of each broker at each NameServer",
    key=("ns", "cluster", "broker", "member", "from_seq", "state"),
    refresh=RefreshMode.BY_SEQ,
    partition="days(to_at)",
    end_columns=("ended",),
    about="""
        A broker is its cluster, name and id; `addr` is its address in the interval. It is up from `broker_up` to
        `broker_down`, and down from then until the next `broker_up`, under any address. Changes of its registration,
        including its role, do not end an interval. A role switch changes the id of a broker, so `member` identifies it
        over time. An event belongs to the registered broker with its address; otherwise to the broker that is gone and
        had the same id and address, the same id, the same address, or an id that another broker has taken over since;
        otherwise it begins a new member.

        - A warm start of the NameServer has no effect: intervals continue, or brokers expire later.
        - After a cold start (`cold`, or nothing recovered) the state of brokers is unknown until they register. Open
          intervals, up or down, end as `nameserver_stopped` at the last known time of the NameServer; no outage
          follows.
        - A broker whose first event is not `broker_up` (it was recovered, or older segments were removed) has been up
          since the start of the NameServer, if that was a few minutes ago, else since that event.
        - `broker_up` of a broker that is up means that the record of its end is lost: the interval ends there.
        - A broker whose lease expires after a restart of the NameServer, without a registration since, went while the
          NameServer was down (`unseen`): why and when it went is unknown here, so `planned` is null.
        - The series of an interval are the outages so far in quick succession: the broker returned within an hour each
          time and was up for at most three minutes. gold.broker_flaps has those of three outages and more.
    """,
    columns="""
        ns string
        cluster string
        broker string
        addr string
        broker_id bigint -- Last id of the broker in the interval; 0 is the master. | 0
        state string -- State of the broker: up or down. | up
        from_at timestamp -- Begin of the interval. | 2026-01-31 10:00:05
        to_at timestamp -- End of the interval; null while it is open. | 2026-01-31 12:30:00
        began string
            -- How it began: up, recovered or lost for an up interval, the reason of `broker_down` for a down interval.
            -- | up
        ended string
            -- How it ended: the reason of `broker_down` or lost for an up interval, returned for a down interval,
            -- nameserver_stopped for both; null while it is open. | closed
        planned boolean
            -- True if the broker unregistered, was deregistered by an operator or was replaced; null if unknown.
            -- | false
        roles array<struct<seq: bigint, at: timestamp, broker_id: bigint>>
            -- Role switches in the interval, each with the new id. | []
        first_id bigint -- Id of the broker at the begin of the interval. | 1
        from_seq bigint
        to_seq bigint
        member bigint
        last_seen_at timestamp
            -- Last time at which the broker was certainly alive; null in an open up interval. | 2026-01-31 12:30:00
        returned_addr string -- Address under which the broker returned after a down interval. | 10.0.0.66:10911
        unseen boolean -- True if the broker went while the NameServer was down. | false
        boot string -- Id of the start of the NameServer in which the interval began. | 6f1d2c84
        signs array<struct<seq: bigint, boot: string, timeout_ms: bigint>>
            -- Registrations in the interval that changed the start of the NameServer or the timeout. | []
        series_seq bigint -- Number of the event that began the series; null without one. | 1041
        series_at timestamp -- Time of the first outage of the series; null without one. | 2026-01-31 10:00:05
        goings int -- Outages of the series so far. | 0
        planned_goings int -- Planned outages of the series so far. | 0
        transitions int -- Outages and returns of the series so far. | 0
    """,
)
PROTECTIONS: Final = Table(
    name="protections",
    layer=Layer.SILVER,
    doc="Intervals in which mass-expiry protection of a NameServer kept silent brokers in the routes",
    key=("ns", "from_seq"),
    refresh=RefreshMode.BY_SEQ,
    end_columns=("ended",),
    about="""
        A protection lasts from `preservation_entered` to `preservation_left`, or to the next start of the NameServer.
        The event names at most 20 addresses, so if `silent` is greater than their number, all brokers of the NameServer
        count as silent.
    """,
    columns="""
        ns string
        from_at timestamp -- Begin of the protection. | 2026-01-31 10:00:05
        to_at timestamp -- End of the protection; null while it lasts. | 2026-01-31 10:06:05
        from_seq bigint
        to_seq bigint
        ended string
            -- Why it ended: returned, timed_out, switched_off, or server_started; null while it lasts. | returned
        silent int -- Number of silent brokers at its begin. | 5
        known int -- Number of brokers that were registered. | 6
        addrs array<string> -- Addresses of silent brokers, at most 20. | ["10.0.0.6:10911"]
        returned array<struct<seq: bigint, at: timestamp, addr: string>>
            -- Brokers that registered again before the end. | []
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
        ns string
        cluster string
        broker string
        topic string
        perm int -- Permission bits: 4 is read, 2 is write. | 6
        read int -- Number of read queues. | 8
        write int -- Number of write queues. | 8
        flag int -- System flags of the topic. | 0
        cause string -- Change that began the interval. | registration
        ended_by string -- Change that ended the interval; null while it is open. | topic_deleted
        from_at timestamp -- Begin of the interval. | 2026-01-31 10:00:05
        to_at timestamp -- End of the interval; null while it is open. | 2026-01-31 12:30:00
        from_seq bigint
        to_seq bigint
    """,
)
DIFFERENCES: Final = Table(
    name="differences",
    layer=Layer.SILVER,
    doc="Differences between two NameServers about a topic or a broker: those that lasted and those still open",
    key=("ns_a", "ns_b", "kind", "broker", "item", "from_at"),
    refresh=RefreshMode.BY_TIME,
    partition="days(to_at)",
    about="""
        The table has all open differences, and the ended ones that lasted at least 120 s while the two NameServers
        were comparable, and ended after both had settled; others are changes in propagation. A NameServer settles in
        the first 150 s after a start: a recovered broker is kept until its lease ends, and after a cold start brokers
        have yet to register. Members of a group are comparable while both NameServers run. Topics are comparable only
        while both have the group, and both see a master or both see none.
    """,
    columns="""
        ns_a string
        ns_b string
        kind string -- What differs: a member of a broker group or a topic. | member
        broker string
        item string -- Address of the member, or name of the topic. | 10.0.0.6:10911
        difference string -- What differs: missing_a, missing_b, role, queues or permission. | missing_b
        at_a string -- Value at ns_a when the difference began; empty if missing. | master
        at_b string -- Value at ns_b when the difference began; empty if missing. | slave
        comparable boolean -- True while the difference counts as a divergence. | true
        topics bigint -- Number of topics of a missing member; null for others. | 24
        from_at timestamp -- Begin of the difference. | 2026-01-31 10:00:05
        to_at timestamp -- End of the difference; null while it is open. | 2026-01-31 10:05:00
        settled_at timestamp -- Time at which both NameServers had settled after their start. | 2026-01-31 09:02:30
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
        ns string
        hour timestamp -- Begin of the hour. | 2026-01-31 10:00:00
        topic string
        minutes array<struct<seq: bigint, minute: int, lookups: bigint>>
            -- Look-ups of each minute, with the number of its last event. | [{"seq": 1041, "minute": 5, "lookups": 12}]
        day date
    """,
)
