"""Keeps tables small: many little files become few, and what no kept build names is let go."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import functions as F  # noqa: N812

from routebook.lake.build.store import Store
from routebook.lake.spark.session import CATALOG
from routebook.lake.tables.meta import BUILDS
from routebook.lake.tables.table import Table


def tidy(store: Store, table: Table) -> None:
    """Write small files of a partition together."""
    store.spark.sql(f"CALL {CATALOG}.system.rewrite_data_files(table => '{table.path}')")


def expire(store: Store, table: Table, *, keep_days: int) -> None:
    """Let go of snapshots that no build of the last days named, and of files that no snapshot knows.

    The last build is kept however old it is: it is what readers see.
    """
    builds = store.spark.table(store.name(BUILDS))
    cutoff = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=keep_days)
    newest = builds.agg(F.max("number").alias("number")).collect()[0]["number"]
    kept = builds.where((F.col("at") >= F.lit(cutoff)) | (F.col("number") == newest))
    named = {row.id for row in kept.select(F.try_element_at("tables", F.lit(table.path)).alias("id")).collect()}
    there = store.spark.table(f"{store.name(table)}.snapshots").select("snapshot_id").collect()
    old = [row.snapshot_id for row in there if row.snapshot_id not in named | {store.current(table)}]
    if old:
        ids = ", ".join(f"{one}L" for one in old)
        given = f"table => '{table.path}', snapshot_ids => array({ids}), older_than => TIMESTAMP '1970-01-02 00:00:00'"
        store.spark.sql(f"CALL {CATALOG}.system.expire_snapshots({given})")
    store.spark.sql(f"CALL {CATALOG}.system.remove_orphan_files(table => '{table.path}')")
