"""Event time: `t`, the time of an event, which never decreases along `seq`.

A journal is ordered by `seq`. `at` is the clock of the host, which can be set back or forward. Intervals need a time
that never decreases, so

    t = the greatest `at` of all events up to this one

- The clock jumps back: `t` stays constant until the clock has caught up. Intervals in between keep their order and have
  no length; none ends before it began.
- The clock jumps forward and is corrected: the same, from the correction on. Without an event other than rollups in
  between, the jump has no effect.
- Shifting all later times instead would keep lengths, but the times of this NameServer would differ permanently from
  those of other NameServers.

Rollups (`heartbeat_minute`, `lookup_minute`) make up most of a journal and need no order. Their `t` is their minute;
they neither advance `t` of other events nor depend on it.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

ROLLUPS: Final = ("heartbeat_minute", "lookup_minute")


def is_rollup() -> Column:
    """Whether an event is the rollup of a minute."""
    return fn.col("kind").isin(*ROLLUPS)


def corrections(events: DataFrame, *, floor: Column) -> DataFrame:
    """`ns, seq, t` of the events whose `t` differs from `at`; none if the clock was never set back.

    `events` has all events of the windows except rollups; `floor` is the begin of the window of an `ns`. Only these
    narrow rows are sorted; `with_t` joins them to the wide rows.
    """
    so_far = Window.partitionBy("ns").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        events.select("ns", "seq", "at")
        .select("ns", "seq", "at", fn.greatest(fn.max("at").over(so_far), floor).alias("t"))
        .where(fn.col("t") > fn.col("at"))
        .select("ns", "seq", "t")
    )


def with_t(events: DataFrame, corrected: DataFrame) -> DataFrame:
    """Events other than rollups, with `t`."""
    return events.join(corrected.withColumnRenamed("t", "corrected_t"), ["ns", "seq"], "left").select(
        *(events[column] for column in events.columns), fn.coalesce("corrected_t", "at").alias("t")
    )
