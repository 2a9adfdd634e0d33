"""What was published: `meta.builds`, whose last row names the snapshot of every table that readers see."""

from datetime import UTC, datetime
from typing import Final
from uuid import uuid4

import msgspec
from pyspark.sql import functions as F  # noqa: N812

from routebook import __version__
from routebook.lake.build.coverage import Coverage
from routebook.lake.build.holes import Explained
from routebook.lake.build.ingest import Counts
from routebook.lake.build.store import Store
from routebook.lake.errors import LakeBusy, NewerLake
from routebook.lake.tables.meta import BUILDS

FORMAT: Final = 1
FORMAT_PROPERTY: Final = "routebook.lake-format"


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """One row of it."""

    number: int
    build_id: str
    at: datetime
    what: str
    bronze_snapshot: int
    tables: dict[str, int]
    coverage: Coverage
    explained: list[Explained]


class Builds:
    """The builds of one lake."""

    def __init__(self, store: Store, lake: str) -> None:
        self._store = store
        self._lake = lake

    def open(self) -> Build | None:
        """The last one; makes the table where there is none. Raises NewerLake."""
        if not self._store.exists(BUILDS):
            self._store.create(BUILDS, **{FORMAT_PROPERTY: str(FORMAT)})
            return None
        written = self._store.property(BUILDS, FORMAT_PROPERTY) or "1"
        if not (written.isdigit() and int(written) <= FORMAT):
            raise NewerLake(
                f"{self._lake}: this lake has format {written}, and this release writes {FORMAT}: "
                "a later release made it; build with that one, or into another --lake"
            )
        return self.last()

    def last(self) -> Build | None:
        """What readers see."""
        rows = self._store.spark.table(self._store.name(BUILDS)).orderBy(F.desc("number")).limit(1).collect()
        if not rows:
            return None
        row = rows[0]
        return Build(
            number=row.number,
            build_id=row.build_id,
            at=row.at,
            what=row.what,
            bronze_snapshot=row.bronze_snapshot,
            tables=dict(row.tables),
            coverage=Coverage(msgspec.json.decode(row.coverage, type=dict[str, list[tuple[int, int]]])),
            explained=msgspec.json.decode(row.explained, type=list[Explained]),
        )

    def publish(
        self,
        last: Build | None,
        *,
        what: str,
        tables: dict[str, int],
        bronze_snapshot: int,
        coverage: Coverage,
        explained: list[Explained],
        counts: Counts,
        seconds: float,
    ) -> Build:
        """Let readers see these snapshots, all at once. Raises LakeBusy if another build was published meanwhile."""
        number = 1 if last is None else last.number + 1
        build = Build(
            number=number,
            build_id=uuid4().hex[:12],
            at=datetime.now(UTC).replace(tzinfo=None),
            what=what,
            bronze_snapshot=bronze_snapshot,
            tables=tables,
            coverage=coverage,
            explained=explained,
        )
        seen = self._store.current(BUILDS)
        values = {
            "number": build.number,
            "build_id": build.build_id,
            "at": build.at.replace(tzinfo=UTC),
            "what": what,
            "release": __version__,
            "bronze_snapshot": bronze_snapshot,
            "tables": tables,
            "read": counts.read,
            "events": counts.events,
            "duplicates": counts.duplicates,
            "quarantined": counts.quarantined,
            "segments": counts.segments,
            "seconds": seconds,
            "coverage": msgspec.json.encode(coverage.ranges()).decode(),
            "explained": msgspec.json.encode(explained).decode(),
        }
        now = self.last()
        if (now.number if now else 0) != number - 1:
            raise self._overtaken(now)
        row = self._store.rows(BUILDS, [values])
        try:
            self._store.append_as(BUILDS, row, only=F.col("number") == number, seen=seen)
        except Exception as error:  # re-raised, if it is not a conflict
            if "conflicting" in str(error):
                raise self._overtaken(self.last()) from None
            raise
        return build

    def _overtaken(self, by: Build | None) -> LakeBusy:
        who = f"build {by.build_id} ({by.what})" if by else "another build"
        return LakeBusy(
            f"{self._lake}: {who} was published meanwhile; this one is not, and loses nothing: run it again"
        )
