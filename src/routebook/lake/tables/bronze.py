"""Declarations of the bronze tables: every journal event once, in typed columns, and the lines that are not events."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

EVENTS: Final = Table(
    name="events",
    layer=Layer.BRONZE,
    doc="Every event of every NameServer, once",
    key=("ns", "seq"),
    refresh=RefreshMode.APPEND,
    partition="day",
    about="""
        The columns up to `day` are set in every row; the others in rows of the kinds that have the field.
        docs/journal.md lists the kinds with their fields.
    """,
    columns="""
        v int -- Version of the journal format. | 1
        ns string
        boot string
        seq bigint -- Number of the event at its NameServer: 1, 2, 3, never reused. | 1041
        at timestamp -- Time of the event by the clock of the NameServer. | 2026-01-31 10:00:05.123
        kind string -- Kind of the event. | broker_down
        day date -- Day (UTC) of `at`. | 2026-01-31
        cluster string
        broker string
        broker_id bigint -- Id of the broker in its group; 0 is the master. | 0
        before_id bigint -- Id of the broker before a role switch, or of the previous master. | 1
        addr string
        ha_addr string -- Address of the broker for replication. | 10.0.0.6:10912
        timeout_ms bigint -- Time without a heartbeat after which the broker expires. | 120000
        acting_master boolean -- True if a slave of the group may act as master. | false
        zone string -- Zone that the broker announced. | zone-1
        data_version struct<counter: bigint, stateVersion: bigint, timestamp: bigint>
            -- Version of the topic table of the broker. | {"counter": 4, "stateVersion": 0, "timestamp": 1769853605123}
        filter_servers array<string> -- Filter servers of the broker. | []
        reason string -- Reason of `broker_down`, `server_stopped` or `preservation_left`. | closed
        cause string -- Cause of `topics_changed`, or of an election. | registration
        added map<string, array<int>>
            -- Topics added, with permission, read queues, write queues and flags. | {"orders": [6, 8, 8, 0]}
        changed map<string, array<array<int>>>
            -- Topics changed, with their queues before and after. | {"orders": [[6, 8, 8, 0], [4, 8, 8, 0]]}
        removed array<string> -- Topics removed. | ["orders"]
        mappings string -- JSON: static-topic mappings of the broker. | {}
        topic string
        brokers array<string> -- Broker groups of a deleted topic, or examples of a divergence. | ["broker-a"]
        topic_count int -- Number of topics whose permission changed. | 24
        topic_names array<string> -- Examples of topics of a divergence. | ["orders"]
        namespace string -- Namespace of the KV entry. | ORDER_TOPIC_CONFIG
        key string -- Key of the KV entry, or name of the setting. | orders
        before string -- Value before the change. | broker-a:8
        after string -- Value after the change. | broker-a:16
        deleted boolean -- True if the KV entry was deleted. | false
        peer string -- Address of the sender of the request, or of the other NameServer. | 10.0.0.9:51312
        who string -- Authenticated name of the sender. | alice
        code int -- Request code. | 205
        why string -- Reason of a denial, of a gap, or of a notification that was not sent. | not an admin
        minute timestamp -- Begin of the minute that the roll-up counts. | 2026-01-31 10:00:00
        count bigint -- Heartbeats, look-ups, equal denials or lost events. | 2
        gaps_ms map<string, bigint>
            -- Histogram of the gaps between heartbeats: largest gap of the bucket in ms, and count. | {"30719": 2}
        max_gap_ms bigint -- Longest gap between heartbeats that ended in the minute. | 30012
        client string -- Address of the client without its port. | 10.0.1.7
        language string -- Language of the client. | JAVA
        client_version int -- Protocol version of the client. | 493
        misses bigint -- Look-ups for which there was no route. | 0
        bytes bigint -- Bytes of the answers. | 1240
        others boolean -- True if the row counts the look-ups beyond the limit on keys. | false
        since timestamp -- Begin of the divergence. | 2026-01-31 10:00:05
        differences int -- Number of differences from the other NameServer. | 3
        diverged_ms bigint -- Duration of the divergence. | 185000
        silent int -- Brokers without heartbeats. | 4
        known int -- Brokers that were registered. | 6
        window_ms bigint -- Time in which the brokers became silent. | 60000
        addrs array<string> -- Addresses of the silent brokers. | ["10.0.0.6:10911"]
        lasted_ms bigint -- Duration of the expiry protection. | 360000
        returned int -- Silent brokers that sent heartbeats again. | 4
        first_missing bigint -- First number of a gap in the journal. | 1001
        last_missing bigint -- Last number of a gap in the journal. | 1064
        certain boolean -- False if most of the missing numbers were never assigned to an event. | true
        server_version string -- Release of the NameServer. | 1.4.0
        listen string -- Address on which the NameServer listens. | 0.0.0.0:9876
        recovered int -- Brokers that the NameServer recovered at its start. | 6
        cold boolean -- True if the tables started empty although brokers may have been registered. | false
        before_addr string -- Address of the previous master, or of a replica before it moved. | 10.0.0.5:10911
        master_id bigint -- Id of the master after the event; null: none. | 1
        master_epoch bigint -- Number of the last election that changed the master of the set. | 4
        sync_state_epoch bigint -- Number of the last change of the in-sync replicas. | 7
        members array<bigint> -- Ids of all replicas after the event. | [1, 2, 3]
        in_sync array<bigint> -- Ids of the in-sync replicas after the event. | [1, 2]
        before_in_sync array<bigint> -- Ids of the in-sync replicas before it. | [1]
        lost_at timestamp -- When the previous master was last seen. | 2026-01-31 10:00:05.100
        unclean boolean -- True if the new master was not in sync. | false
        candidates array<struct<id: bigint, alive: boolean, epoch: bigint, max_offset: bigint, priority: bigint>>
            -- Replicas that the election considered, by id, as their heartbeats describe them. | []
        broker_ids array<bigint> -- Ids that an operator removed from the Controller. | [3]
        removed_set boolean -- True if the whole set was removed. | false
        replicas map<string, string> -- Addresses of the replicas by id. | {"1": "10.0.0.5:10911"}
        controller_group string -- Name of the Controller group. | group1
        node string -- Id of the Controller node. | n0
        leads boolean -- True if the node began to lead. | true
        raw string -- The line of an event of a kind that this release does not know, else null. | {"v": 1}
        source string -- URI of the segment from which the event was read. | file:///srv/ns-1/00000000000000000001.jsonl
    """,
)
QUARANTINE: Final = Table(
    name="quarantine",
    layer=Layer.BRONZE,
    doc="Journal lines that are not in bronze.events, with file, line number and reason",
    key=("file", "line"),
    refresh=RefreshMode.APPEND,
    about="""
        - A line that is not a valid event.
        - A line 0 stands for a damaged or empty file; the lines before the damage are in bronze.events.
        - A conflict: a valid event whose number another event with other content has, as after a home folder was copied
          and both copies ran. The first one that a build read is in bronze.events; `reason` names it and its segment.
    """,
    columns="""
        file string -- Path of the segment. | /var/lib/routebook/journal/00000000000000000001.jsonl
        line bigint -- Number of the line in the segment; 0 stands for the file. | 17
        reason string -- Reason why the line is not a valid event, or what is wrong with the file. | not JSON
        text string -- The first 4096 characters of the line; for a file, its size and time. | nonsense
        found_at timestamp -- Time at which the build found it. | 2026-01-31 10:15:00
        ns string -- Id of the NameServer in the line; null if it has none. | ns-1
        seq bigint -- Number of the event in the line; null if it has none. | 1041
    """,
)
