"""Declarations of the meta tables: published builds, gaps in the journals, and marks of operators."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

BUILDS: Final = Table(
    name="builds",
    layer=Layer.META,
    doc="Published builds; readers use the table snapshots named by the last one",
    key=("number",),
    refresh=RefreshMode.APPEND,
    columns="""
        number bigint -- Consecutive number of the build. | 12
        build_id string -- Id of the build, which `--as-of` accepts. | 20260131T101500-4be1
        at timestamp -- Time of publication. | 2026-01-31 10:15:00
        what string -- Command that made the build: build, backfill, retire or vacuum. | build
        release string -- Release of Routebook that made the build. | 1.4.0
        bronze_snapshot bigint -- Iceberg snapshot of bronze.events up to which events are included. | 4190716422573810
        tables map<string, bigint> -- Iceberg snapshot of each table. | {"gold.broker_flaps": 5577006791947779}
        read bigint -- Lines that the build read. | 5210
        events bigint -- Events that were new. | 5040
        duplicates bigint -- Lines whose event the lake already had. | 168
        quarantined bigint -- Lines that are not valid events. | 2
        segments bigint -- Segments that the build read. | 3
        seconds double -- Duration of the build. | 21.4
        coverage string -- JSON: the ranges of event numbers in the lake, by NameServer. | {"ns-1": [[1, 5040]]}
        explained string -- JSON: the gaps in the numbers that journals explain. | []
        conflicts bigint -- Lines with a number that another event with other content has. | 0
    """,
)
HOLES: Final = Table(
    name="holes",
    layer=Layer.META,
    doc="Sequence numbers missing from all segments read so far, with the reason if the journal records one",
    key=("ns", "first_missing"),
    refresh=RefreshMode.WHOLE,
    columns="""
        ns string
        first_missing bigint -- First missing number. | 1001
        last_missing bigint -- Last missing number. | 1064
        why string -- Reason for the gap. | in no segment that was read
        certain boolean -- False if most of these numbers were never assigned to an event, as after a crash. | true
    """,
)
RETIRED: Final = Table(
    name="retired",
    layer=Layer.META,
    doc="Brokers that an operator marked as decommissioned (`routebook lake retire`); kept when tables are rebuilt",
    key=("cluster", "broker", "broker_id", "retired_at"),
    refresh=RefreshMode.APPEND,
    about="""
        A mark applies to the outage of the broker at `retired_at`, at every NameServer: that outage does not count.
    """,
    columns="""
        cluster string -- Cluster of the broker; null for any. | DefaultCluster
        broker string
        broker_id bigint -- Id of the broker; null for all brokers of the group. | 0
        retired_at timestamp -- Time to which the mark refers. | 2026-01-31 12:00:00
        who string -- The user that set the mark. | ops
        why string -- Reason that the user gave; null without one. | replaced by broker-d
    """,
)
