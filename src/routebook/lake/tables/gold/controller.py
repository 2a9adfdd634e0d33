"""Declarations of the gold tables about the Controller: elections, and the state of broker sets."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

ELECTIONS: Final = Table(
    name="elections",
    layer=Layer.GOLD,
    doc="Elections of masters by the Controller: cause, outcome, time without a master, unclean elections",
    key=("ns", "seq"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    about="""
        Only the node that leads the Controller commits and records an election, so each is in one journal. A set
        without a candidate has one row until something changes, however often its brokers ask.

        `failover_s` is the time without a master: from the moment at which the last master was last seen (its
        connection closed, or its last heartbeat) to the election of the next one. It is null for a first election, for
        an election by an operator while the master was alive, for one without a master, and if the leader did not
        observe the loss.
    """,
    columns="""
        at timestamp -- Time of the election. | 2026-01-31 10:00:05.200
        ns string
        cluster string
        broker string -- Name of the broker set. | broker-a
        outcome string -- How the election ended: elected or no_master. | elected
        cause string
            -- Why it took place: first, closed, expired, leader_start, scan, operator or broker. | closed
        unclean boolean -- True if the new master was not in sync. | false
        master_id bigint -- Id of the new master; null without one. | 2
        addr string -- Address of the new master; null without one. | 10.0.0.7:10911
        before_id bigint -- Id of the previous master; null if there was none. | 1
        before_addr string -- Address of the previous master. | 10.0.0.6:10911
        master_epoch bigint -- Number of the election in its set. | 4
        lost_at timestamp -- When the last master was last seen; null if unknown. | 2026-01-31 10:00:05
        failover_s double -- Time without a master in seconds. | 0.2
        in_sync array<bigint> -- In-sync replicas after the election. | [2]
        before_in_sync array<bigint> -- In-sync replicas before it. | [1, 2]
        candidates int -- Replicas that were considered. | 2
        candidates_alive int -- Those that were alive. | 1
        who string -- Authenticated name of the operator or broker that asked. | alice
        peer string -- Address of the sender of the request. | 10.0.0.9:51312
        day date
        seq bigint -- Number of the event. | 1041
    """,
)
SYNC_STATE: Final = Table(
    name="sync_state",
    layer=Layer.GOLD,
    doc="One row per interval in which a broker set had the same master and in-sync replicas",
    key=("ns", "broker", "from_seq"),
    refresh=RefreshMode.BY_SEQ,
    partition="days(to_at)",
    end_columns=("duration_s",),
    about="""
        The rows of a NameServer cover the time in which its Controller node led: they end when it stops to lead or
        restarts, and the next leader begins with the sets as it found them. A row without an end was still valid when
        the data ended.
    """,
    columns="""
        ns string
        cluster string
        broker string -- Name of the broker set. | broker-a
        from_at timestamp -- Begin of the interval. | 2026-01-31 10:00:05
        to_at timestamp -- End of the interval; null while it is valid. | 2026-01-31 12:30:00
        duration_s double -- Length in seconds; null while it is valid. | 8995.0
        master_id bigint -- Id of the master; null without one. | 1
        master_epoch bigint -- Number of the election that made the master. | 4
        sync_state_epoch bigint -- Number of the change of the in-sync replicas. | 7
        in_sync array<bigint> -- Ids of the in-sync replicas. | [1, 2]
        out_of_sync array<bigint> -- Ids of the other replicas. | [3]
        replicas int -- Number of all replicas. | 3
        from_seq bigint
        to_seq bigint
    """,
)
