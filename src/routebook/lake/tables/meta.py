"""The lake's tables about itself: what was built when, and what journals do not have."""

from typing import Final

from routebook.lake.tables.table import Grows, Layer, Table

BUILDS: Final = Table(
    name="builds",
    layer=Layer.META,
    doc="Every build that was published; readers see the tables of the last",
    key=("number",),
    grows=Grows.APPEND,
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
    doc="Numbers that are in no segment that was read, and why",
    key=("ns", "first_missing"),
    grows=Grows.WHOLE,
    columns="ns string, first_missing bigint, last_missing bigint, why string, certain boolean",
)
