"""`routebook lake`: builds tables from journals with Spark, and reads them without."""

from typing import Final

from routebook.cli.framework import Entry, LazyGroup

_BUILD: Final = "Build (Spark)"
_READ: Final = "Read"

lake: Final = LazyGroup(
    "lake",
    package="routebook.cli.commands.lake",
    help="Build tables from journals, query them and print reports.",
    entries={
        "build": Entry(_BUILD, "Read new journal records and update the tables.", "build:build"),
        "follow": Entry(_BUILD, "Build repeatedly until interrupted.", "follow:follow"),
        "backfill": Entry(_BUILD, "Rebuild the tables of past days.", "build:backfill"),
        "retire": Entry(_BUILD, "Mark a broker as decommissioned.", "retire:retire"),
        "vacuum": Entry(_BUILD, "Compact small files and delete old versions.", "build:vacuum"),
        "query": Entry(_READ, "Run an SQL query.", "query:query"),
        "tables": Entry(_READ, "List tables, or the columns of one.", "tables:tables"),
        "report": Entry(_READ, "Print reports, or write them as one HTML page.", "report:report"),
    },
)
