"""Publishes builds: the last row of `meta.builds` names the snapshot of every table that readers see."""

from datetime import UTC, datetime
from uuid import uuid4

import msgspec
from pyspark.sql import functions as fn

from routebook import __version__
from routebook.lake.build.bronze.counts import Counts
from routebook.lake.build.bronze.coverage import Coverage
from routebook.lake.build.bronze.holes import Hole
from routebook.lake.build.store import Store
from routebook.lake.errors import CommitConflict, LakeBusy, NewerLake
from routebook.lake.layout import FORMAT, FORMAT_PROPERTY, is_supported_format
from routebook.lake.tables.meta import BUILDS


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """One published build."""

    number: int
    build_id: str
    at: datetime
    what: str
    bronze_snapshot: int
    tables: dict[str, int]
    coverage: Coverage
    explained: list[Hole]


class Builds:
    """The builds of one lake."""

    def __init__(self, store: Store, lake: str) -> None:
        self._store = store
        self._lake = lake

    def open(self) -> Build | None:
        """The last build; creates the table if it does not exist. Raises NewerLake."""
        if not self._store.exists(BUILDS):
            self._store.create(BUILDS, **{FORMAT_PROPERTY: str(FORMAT)})
            return None
        written = self._store.property(BUILDS, FORMAT_PROPERTY) or "1"
        if not is_supported_format(written):
            raise NewerLake(
                f"{self._lake}: this lake has format {written}, and this release writes {FORMAT}: "
                "build with the later release that created it, or into another --lake"
            )
        if not self._store.has_declared_columns(BUILDS):
            self._store.add_columns(BUILDS)
        return self.last()

    def last(self) -> Build | None:
        """The build that readers see."""
        rows = self._store.spark.table(self._store.name(BUILDS)).orderBy(fn.desc("number")).limit(1).collect()
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
            explained=msgspec.json.decode(row.explained, type=list[Hole]),
        )

    def publish(
        self,
        last: Build | None,
        *,
        what: str,
        tables: dict[str, int],
        bronze_snapshot: int,
        coverage: Coverage,
        explained: list[Hole],
        counts: Counts,
        seconds: float,
    ) -> Build:
        """Make these snapshots visible to readers, atomically. Raises LakeBusy if another build was published."""
        build = Build(
            number=1 if last is None else last.number + 1,
            build_id=uuid4().hex[:12],
            at=datetime.now(UTC).replace(tzinfo=None),
            what=what,
            bronze_snapshot=bronze_snapshot,
            tables=tables,
            coverage=coverage,
            explained=explained,
        )
        seen = self._store.current(BUILDS)
        newest = self.last()
        if (newest.number if newest else 0) != build.number - 1:
            raise self._overtaken(newest)
        row = {
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
            "conflicts": counts.conflicts,
            "segments": counts.segments,
            "seconds": seconds,
            "coverage": msgspec.json.encode(coverage.ranges()).decode(),
            "explained": msgspec.json.encode(explained).decode(),
        }
        try:
            self._store.overwrite(
                BUILDS, self._store.rows(BUILDS, [row]), where=fn.col("number") == build.number, seen=seen
            )
        except CommitConflict:
            raise self._overtaken(self.last()) from None
        return build

    def _overtaken(self, by: Build | None) -> LakeBusy:
        other = f"build {by.build_id} ({by.what})" if by else "another build"
        return LakeBusy(
            f"{self._lake}: {other} was published while this build ran, so this build was not published; "
            "no data is lost: run it again"
        )
