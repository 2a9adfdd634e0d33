"""Table maintenance: compacts small files and removes snapshots that no retained build uses."""

from datetime import UTC, datetime, timedelta

from pyspark.sql import functions as fn

from routebook.lake.build.store import Store
from routebook.lake.layout import CATALOG
from routebook.lake.tables.meta import BUILDS
from routebook.lake.tables.table import Table


def compact(store: Store, table: Table) -> None:
    """Merge the small files of each partition."""
    store.spark.sql(f"CALL {CATALOG}.system.rewrite_data_files(table => '{table.path}')")


def expire(store: Store, table: Table, *, keep_days: int) -> None:
    """Remove snapshots that no build of the last `keep_days` days uses, and files that no snapshot references.

    The last build is retained regardless of its age: readers use it.
    """
    builds = store.spark.table(store.name(BUILDS))
    cutoff = datetime.now(UTC).replace(tzinfo=None) - timedelta(days=keep_days)
    newest = builds.agg(fn.max("number").alias("number")).collect()[0]["number"]
    retained = builds.where((fn.col("at") >= fn.lit(cutoff)) | (fn.col("number") == newest))
    used = {row.id for row in retained.select(fn.try_element_at("tables", fn.lit(table.path)).alias("id")).collect()}
    snapshots = store.spark.table(f"{store.name(table)}.snapshots").select("snapshot_id").collect()
    old = [row.snapshot_id for row in snapshots if row.snapshot_id not in used | {store.current(table)}]
    if old:
        ids = ", ".join(f"{one}L" for one in old)
        given = f"table => '{table.path}', snapshot_ids => array({ids}), older_than => TIMESTAMP '1970-01-02 00:00:00'"
        store.spark.sql(f"CALL {CATALOG}.system.expire_snapshots({given})")
    store.spark.sql(f"CALL {CATALOG}.system.remove_orphan_files(table => '{table.path}')")
