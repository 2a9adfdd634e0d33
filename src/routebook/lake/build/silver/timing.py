"""When things happened: `t`, a NameServer's own time, made never to go back along `seq`.

A journal is ordered by `seq`. Its `at` is what the clock of the host said, and a clock can be set: back by an hour when
somebody corrects it, forward and back again when somebody got it wrong. Intervals need a time that only grows, so

    t = the greatest `at` that any event up to this one had

- The clock jumps back: time stands still until the clock has caught up. What happens meanwhile has the right order and
  no length. Nothing ends before it began, and after as long as the jump was, everything is right again.
- It jumps forward and is corrected: the same, from the correction on, if anything but rollups was journalled in
  between; else nothing of it shows.
- Shifting instead of standing still would keep lengths, but this NameServer's times would be off for ever, beside
  other NameServers and beside everybody's watch.

Rollups (`heartbeat_minute`, `lookup_minute`) are most of a journal and need no order: they carry their own minute,
which is their `t`, and neither push time nor are pushed by it.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

ROLLUPS: Final = ("heartbeat_minute", "lookup_minute")


def is_rollup() -> Column:
    """Of an event: whether it sums up a minute."""
    return fn.col("kind").isin(*ROLLUPS)


def corrections(events: DataFrame, *, floor: Column) -> DataFrame:
    """`ns, seq, t` of those events whose `at` is not their `t`; in a journal whose clock was left alone there are none.

    `events` has all events of the windows but rollups; `floor` is the time at which the window of an `ns` begins.
    Only the few narrow rows of this go through a shuffle; `with_t` then costs wide rows no more than a look-up.
    """
    so_far = Window.partitionBy("ns").orderBy("seq").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    return (
        events.select("ns", "seq", "at")
        .select("ns", "seq", "at", fn.greatest(fn.max("at").over(so_far), floor).alias("t"))
        .where(fn.col("t") > fn.col("at"))
        .select("ns", "seq", "t")
    )


def with_t(events: DataFrame, corrected: DataFrame) -> DataFrame:
    """The events, no rollups among them, with `t`."""
    return events.join(fn.broadcast(corrected.withColumnRenamed("t", "corrected_t")), ["ns", "seq"], "left").select(
        *(events[column] for column in events.columns), fn.coalesce("corrected_t", "at").alias("t")
    )
