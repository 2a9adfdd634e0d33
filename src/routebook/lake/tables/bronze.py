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
    columns="""
        v int, ns string, boot string, seq bigint, at timestamp, kind string, day date,
        cluster string, broker string, broker_id bigint, before_id bigint, addr string, ha_addr string,
        timeout_ms bigint, acting_master boolean, zone string,
        data_version struct<counter: bigint, stateVersion: bigint, timestamp: bigint>, filter_servers array<string>,
        reason string, cause string,
        added map<string, array<int>>, changed map<string, array<array<int>>>, removed array<string>, mappings string,
        topic string, brokers array<string>, topic_count int, topic_names array<string>,
        namespace string, key string, before string, after string, deleted boolean,
        peer string, who string, code int, why string,
        minute timestamp, count bigint, gaps_ms map<string, bigint>, max_gap_ms bigint,
        client string, language string, client_version int, misses bigint, bytes bigint, others boolean,
        since timestamp, differences int, diverged_ms bigint,
        silent int, known int, window_ms bigint, addrs array<string>, lasted_ms bigint, returned int,
        first_missing bigint, last_missing bigint, certain boolean,
        server_version string, listen string, recovered int, cold boolean,
        raw string
    """,
)
QUARANTINE: Final = Table(
    name="quarantine",
    layer=Layer.BRONZE,
    doc="Journal lines that are not valid events, with file, line number and reason",
    key=("file", "line"),
    refresh=RefreshMode.APPEND,
    columns="file string, line bigint, reason string, text string, found_at timestamp",
)
