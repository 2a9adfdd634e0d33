"""Declarations of the meta tables: published builds, and gaps in the journals."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

BUILDS: Final = Table(
    name="builds",
    layer=Layer.META,
    doc="Published builds; readers use the table snapshots named by the last one",
    key=("number",),
    refresh=RefreshMode.APPEND,
    columns="""
        number bigint, build_id string, at timestamp, what string, release string,
        bronze_snapshot bigint, tables map<string, bigint>,
        read bigint, events bigint, duplicates bigint, quarantined bigint, segments bigint, seconds double,
        coverage string, explained string
    """,
)
HOLES: Final = Table(
    name="holes",
    layer=Layer.META,
    doc="Sequence numbers missing from all segments read so far, with the reason if the journal records one",
    key=("ns", "first_missing"),
    refresh=RefreshMode.WHOLE,
    columns="ns string, first_missing bigint, last_missing bigint, why string, certain boolean",
)
