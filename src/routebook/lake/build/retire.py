"""The mark of a decommissioned broker, set by an operator."""

from datetime import datetime
from typing import Any

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as fn


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """One row of meta.retired: applies to the outage of the broker at `retired_at`, at every NameServer."""

    broker: str
    retired_at: datetime
    cluster: str | None = None  # None: any
    broker_id: int | None = None  # None: all brokers of the group
    who: str | None = None
    why: str | None = None

    def row(self) -> dict[str, Any]:
        return msgspec.structs.asdict(self)

    def applies_to(self) -> Column:
        """Rows of gold.outage_impact; gold/outage_impact.py uses the same rule."""
        at = fn.lit(self.retired_at)
        return self.names_same() & (fn.col("from_at") <= at) & (fn.col("to_at").isNull() | (fn.col("to_at") > at))

    def names_same(self) -> Column:
        """Rows of outages and of marks with this broker, and with this cluster and id if the mark has them."""
        is_it = fn.col("broker") == self.broker
        if self.cluster is not None:
            is_it = is_it & fn.col("cluster").eqNullSafe(self.cluster)
        if self.broker_id is not None:
            is_it = is_it & fn.col("broker_id").eqNullSafe(self.broker_id)
        return is_it
