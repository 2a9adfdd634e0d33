"""silver.broker_spans: alternating up and down intervals of each broker at each NameServer.

A broker is identified by cluster, name and address. It is up from `broker_up` to `broker_down`, and down from then
until the next `broker_up`. Changes of its registration, including its role, do not end an interval.

- A warm start of the NameServer has no effect: intervals continue, or brokers expire later.
- After a cold start (`cold`, or nothing recovered) the state of brokers is unknown until they register. Open intervals,
  up or down, end as `nameserver_stopped` at the last known time of the NameServer; no outage follows.
- A broker whose first event is not `broker_up` (it was recovered, or older segments were removed) has been up since the
  start of the NameServer, if that was a few minutes ago, else since that event. `began` is `recovered`.
- `broker_up` of a broker that is up means that the record of its end is lost: the interval ends there, as `lost`.
- `planned` describes the end of an up interval and the down interval after it. True: the broker unregistered, an
  operator deregistered it, or another broker replaced it (`replaced`: a role switch or a move). False: its connection
  was closed or idle, or its lease expired. Null: unknown.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.silver import BROKER_SPANS

ON_PURPOSE: Final = ("unregistered", "deregistered", "replaced")
NAMESERVER_STOPPED: Final = "nameserver_stopped"
LOST: Final = "lost"
RECOVERED: Final = "recovered"
RETURNED: Final = "returned"

_RECOVERY: Final = "interval 5 minutes"  # within it, a recovered broker registers or expires
_KINDS: Final = ("broker_up", "broker_changed", "broker_returned", "broker_down")
_MEMBER: Final = ("ns", "epoch", "cluster", "broker", "addr")
_UP: Final = "broker_up"
_DOWN: Final = "broker_down"
_PIECE: Final = "struct<step: int, state: string, from_at: timestamp, began: string>"
_ROLE: Final = "struct<seq: bigint, at: timestamp, broker_id: bigint>"


def build(inputs: Inputs) -> DataFrame:
    """One row per interval."""
    observed = inputs.table("observed").select(
        "ns", "boot", fn.col("from_at").alias("boot_at"), fn.col("recovered").alias("boot_recovered"), "before_at"
    )
    epochs = _epochs(inputs, observed)
    events = _broker_events(inputs, observed).unionByName(_edge_events(inputs)).join(fn.broadcast(epochs), "ns")
    in_epoch = (fn.col("seq") >= fn.col("epoch")) & (
        fn.col("next_epoch").isNull() | (fn.col("seq") < fn.col("next_epoch"))
    )
    return _spans(_boundaries(events.where(in_epoch)))


def _epochs(inputs: Inputs, observed: DataFrame) -> DataFrame:
    """`ns, epoch, next_epoch, epoch_end`: from one cold start to the next; earlier rows are in epoch 0."""
    is_empty = fn.coalesce("cold", fn.lit(False)) | (fn.coalesce("recovered", fn.lit(0)) == 0)
    cold = (
        inputs.events("server_started")
        .where(is_empty)
        .select("ns", "boot", "seq", "t")
        .join(fn.broadcast(observed.select("ns", "boot", "before_at")), ["ns", "boot"], "left")
        .select("ns", fn.col("seq").alias("epoch"), fn.coalesce("before_at", "t").alias("begun_at"))
    )
    first = inputs.windows().select(
        "ns", fn.lit(0).cast("bigint").alias("epoch"), fn.lit(None).cast("timestamp").alias("begun_at")
    )
    order = Window.partitionBy("ns").orderBy("epoch")
    return first.unionByName(cold).select(
        "ns",
        "epoch",
        fn.lead("epoch").over(order).alias("next_epoch"),
        fn.lead("begun_at").over(order).alias("epoch_end"),
    )


def _broker_events(inputs: Inputs, observed: DataFrame) -> DataFrame:
    """Events of brokers; `since` is the begin of the interval if it is the first event of its broker."""
    from_before = fn.coalesce(fn.col("boot_recovered") > 0, fn.lit(True)) & (
        fn.col("boot_at") >= fn.col("t") - fn.expr(_RECOVERY)
    )
    no_roles = fn.array().cast(f"array<{_ROLE}>")
    role = fn.struct("seq", fn.col("t").alias("at"), "broker_id").cast(_ROLE)
    is_switch = (fn.col("kind") == "broker_changed") & (fn.col("broker_id") != fn.col("before_id"))
    return (
        inputs.events(*_KINDS)
        .join(fn.broadcast(observed.drop("before_at")), ["ns", "boot"], "left")
        .select(
            "ns",
            "cluster",
            "broker",
            "addr",
            "seq",
            "t",
            "kind",
            "broker_id",
            "reason",
            fn.when(from_before, fn.col("boot_at")).otherwise(fn.col("t")).alias("since"),
            fn.lit(False).alias("is_known"),
            fn.when(is_switch, fn.array(role)).otherwise(no_roles).alias("roles"),
        )
    )


def _edge_events(inputs: Inputs) -> DataFrame:
    """Open intervals as events at their begin, without the role switches that are read again."""
    edge = inputs.edge().select("*", inputs.in_window("from_seq").alias("redone"))
    return edge.select(
        "ns",
        "cluster",
        "broker",
        "addr",
        fn.col("from_seq").alias("seq"),
        fn.col("from_at").alias("t"),
        fn.when(fn.col("state") == "up", _UP).otherwise(_DOWN).alias("kind"),
        fn.col("first_id").alias("broker_id"),
        fn.col("began").alias("reason"),
        fn.col("from_at").alias("since"),
        fn.lit(True).alias("is_known"),
        fn.expr("filter(roles, role -> role.seq < redone)").alias("roles"),
    )


def _boundaries(events: DataFrame) -> DataFrame:
    """The begin of each interval: `state`, `from_at`, `began`; null for events within an interval.

    Adds the missing begin of a broker whose first event is not `broker_up`, and drops a repeated `broker_down`.
    """
    before = fn.lag("kind").over(Window.partitionBy(*_MEMBER).orderBy("seq"))
    ordered = events.withColumn("before", before)
    is_first = fn.col("before").isNull() & ~fn.col("is_known")
    is_up, is_down = fn.col("kind") == _UP, fn.col("kind") == _DOWN
    up = _piece(0, "up", fn.col("t"), fn.coalesce("reason", fn.lit("up")))
    recovered = _piece(0, "up", fn.col("since"), fn.lit(RECOVERED))
    down = _piece(1, "down", fn.col("t"), fn.col("reason"))
    unchanged = _piece(0, None, fn.col("t"), fn.lit(None))
    pieces = (
        fn.when(is_up, fn.array(up))
        .when(is_down & is_first, fn.array(recovered, down))
        .when(is_down & (fn.col("before") == _DOWN), fn.array().cast(f"array<{_PIECE}>"))
        .when(is_down, fn.array(down))
        .when(is_first, fn.array(recovered))
        .when(fn.col("before") == _DOWN, fn.array(_piece(0, "up", fn.col("t"), fn.lit(LOST))))
        .otherwise(fn.array(unchanged))
    )
    return ordered.select(
        *_MEMBER, "next_epoch", "epoch_end", "seq", "broker_id", "roles", fn.explode(pieces).alias("piece")
    ).select("*", "piece.*")


def _piece(step: int, state: str | None, from_at: Column, began: Column) -> Column:
    return fn.struct(fn.lit(step), fn.lit(state), from_at, began).cast(_PIECE)


def _spans(boundaries: DataFrame) -> DataFrame:
    """Intervals from each begin to the next."""
    numbered = boundaries.withColumn(
        "number",
        fn.count("state").over(
            Window.partitionBy(*_MEMBER)
            .orderBy("seq", "step")
            .rowsBetween(Window.unboundedPreceding, Window.currentRow)
        ),
    )
    spans = numbered.groupBy(*_MEMBER, "next_epoch", "epoch_end", "number").agg(
        fn.min("seq").alias("from_seq"),
        fn.min_by("state", fn.struct("seq", "step")).alias("state"),
        fn.min_by("from_at", fn.struct("seq", "step")).alias("from_at"),
        fn.min_by("began", fn.struct("seq", "step")).alias("began"),
        fn.min_by("broker_id", fn.struct("seq", "step")).alias("first_id"),
        fn.array_sort(fn.flatten(fn.collect_list("roles"))).alias("roles"),
    )
    after = Window.partitionBy(*_MEMBER).orderBy("number")
    followed = spans.withColumn("next", fn.lead(fn.struct("state", "from_at", "began", "from_seq")).over(after))
    is_last = fn.col("next").isNull()
    ended = (
        fn.when(is_last, fn.when(fn.col("next_epoch").isNotNull(), NAMESERVER_STOPPED))
        .when(fn.col("next.state") == "down", fn.col("next.began"))
        .when(fn.col("state") == "up", LOST)
        .otherwise(RETURNED)
    )
    why = fn.when(fn.col("state") == "up", fn.col("ended")).otherwise(fn.col("began"))
    return (
        followed.withColumn("ended", ended)
        .select(
            *_MEMBER,
            fn.coalesce(fn.try_element_at(fn.col("roles"), fn.lit(-1))["broker_id"], "first_id").alias("broker_id"),
            "state",
            "from_at",
            fn.when(is_last, fn.greatest("from_at", "epoch_end")).otherwise(fn.col("next.from_at")).alias("raw_to_at"),
            "began",
            "ended",
            fn.when(~why.isin(NAMESERVER_STOPPED, LOST), why.isin(*ON_PURPOSE)).alias("planned"),
            "roles",
            "first_id",
            "from_seq",
            fn.coalesce("next.from_seq", "next_epoch").alias("to_seq"),
        )
        .withColumn("to_at", fn.when(fn.col("ended").isNotNull(), fn.col("raw_to_at")))
    )


STEP = Step(BROKER_SPANS, ("observed",), build)
