"""silver.broker_spans: alternating up and down intervals of each broker at each NameServer."""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as fn

from routebook.lake.build.silver.flap_series import with_series
from routebook.lake.build.silver.identity import with_members
from routebook.lake.build.step import Inputs, Progress, Step
from routebook.lake.tables.silver import BROKER_SPANS

ON_PURPOSE: Final = ("unregistered", "deregistered", "replaced")
NAMESERVER_STOPPED: Final = "nameserver_stopped"
LOST: Final = "lost"
RECOVERED: Final = "recovered"
RETURNED: Final = "returned"

_RECOVERY: Final = "interval 5 minutes"  # within it, a recovered broker registers or expires
_KINDS: Final = ("broker_up", "broker_changed", "broker_returned", "broker_down")
_MEMBER: Final = ("ns", "epoch", "cluster", "broker", "member")
_UP: Final = "broker_up"
_DOWN: Final = "broker_down"
_SILENT: Final = ("expired", "idle")
_SCAN_MS: Final = 5_000  # a NameServer looks for expired leases this often
_DEFAULT_LEASE_MS: Final = 120_000
_PIECE: Final = "struct<step: int, state: string, from_at: timestamp, began: string>"
_SIGN: Final = "struct<seq: bigint, boot: string, timeout_ms: bigint>"
_SEED: Final = "struct<series_seq: bigint, series_at: timestamp, goings: int, planned_goings: int, transitions: int>"
_SERIES: Final = ("series_seq", "series_at", "goings", "planned_goings", "transitions")
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
    return _spans(_boundaries(with_members(events.where(in_epoch))))


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
        .join(fn.broadcast(observed), ["ns", "boot"], "left")
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
            fn.coalesce(is_switch, fn.lit(False)).alias("is_switch"),
            fn.col("broker_id").alias("last_id"),
            fn.lit(None).cast("bigint").alias("member"),
            "timeout_ms",
            "boot",
            fn.lit(None).cast(f"array<{_SIGN}>").alias("known_signs"),
            "before_at",
            fn.lit(None).cast("timestamp").alias("known_seen_at"),
            fn.lit(None).cast("boolean").alias("known_unseen"),
            fn.lit(None).cast(_SEED).alias("seed"),
        )
    )


def _edge_events(inputs: Inputs) -> DataFrame:
    """Open intervals as events at their begin, without the role switches that are read again."""
    edge = inputs.edge().select("*", inputs.in_window("from_seq").alias("redone"))
    known_roles = fn.expr("filter(roles, role -> role.seq < redone)")
    known_signs = fn.expr("filter(signs, sign -> sign.seq < redone)")
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
        known_roles.alias("roles"),
        fn.lit(False).alias("is_switch"),
        fn.coalesce(fn.try_element_at(known_roles, fn.lit(-1))["broker_id"], "first_id").alias("last_id"),
        "member",
        fn.try_element_at(known_signs, fn.lit(-1))["timeout_ms"].alias("timeout_ms"),
        "boot",
        known_signs.alias("known_signs"),
        fn.lit(None).cast("timestamp").alias("before_at"),
        fn.col("last_seen_at").alias("known_seen_at"),
        fn.col("unseen").alias("known_unseen"),
        fn.struct(*_SERIES).cast(_SEED).alias("seed"),
    )


def _boundaries(events: DataFrame) -> DataFrame:
    """The begin of each interval: `state`, `from_at`, `began`; null for events within an interval.

    Adds the missing begin of a broker whose first event is not `broker_up`, and drops a repeated `broker_down`.
    """
    order = Window.partitionBy(*_MEMBER).orderBy("seq")
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    sign = fn.struct("seq", "boot", fn.last("timeout_ms", ignorenulls=True).over(so_far)).cast(_SIGN)
    own_signs = fn.when(fn.col("kind") != _DOWN, fn.array(sign)).otherwise(fn.array().cast(f"array<{_SIGN}>"))
    ordered = events.select(
        "*", fn.lag("kind").over(order).alias("before"), fn.coalesce("known_signs", own_signs).alias("signs")
    ).drop("known_signs", "timeout_ms")
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
    return (
        ordered.select("*", fn.explode(pieces).alias("piece"))
        .select("*", "piece.*")
        .drop("piece", "before", "since", "is_known", "is_switch", "last_id", "reason")
    )


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
    first = fn.struct("seq", "step")
    spans = numbered.groupBy(*_MEMBER, "next_epoch", "epoch_end", "number").agg(
        fn.min("seq").alias("from_seq"),
        *(
            fn.min_by(name, first).alias(alias)
            for name, alias in (
                ("state", "state"),
                ("from_at", "from_at"),
                ("began", "began"),
                ("broker_id", "first_id"),
                ("addr", "addr"),
                ("t", "t"),
                ("before_at", "before_at"),
                ("boot", "boot"),
                ("known_seen_at", "known_seen_at"),
                ("known_unseen", "known_unseen"),
                ("seed", "seed"),
            )
        ),
        fn.array_sort(fn.flatten(fn.collect_list("roles"))).alias("roles"),
        _changed_signs(fn.array_sort(fn.flatten(fn.collect_list("signs")))).alias("signs"),
    )
    after = Window.partitionBy(*_MEMBER).orderBy("number")
    sign = fn.try_element_at(fn.col("signs"), fn.lit(-1)).alias("sign")
    both = spans.select("*", fn.lag(fn.struct(sign, "from_at")).over(after).alias("up_before"))
    ends = both.select("*", _unseen().alias("unseen")).select("*", _last_seen().alias("begin_seen_at"))
    following = ("state", "from_at", "began", "from_seq", "addr", "begin_seen_at", "unseen")
    followed = ends.select("*", fn.lead(fn.struct(*following)).over(after).alias("next"))
    is_last, is_up = fn.col("next").isNull(), fn.col("state") == "up"
    ended = (
        fn.when(is_last, fn.when(fn.col("next_epoch").isNotNull(), NAMESERVER_STOPPED))
        .when(fn.col("next.state") == "down", fn.col("next.began"))
        .when(is_up, LOST)
        .otherwise(RETURNED)
    )
    why = fn.when(is_up, fn.col("ended")).otherwise(fn.col("began"))
    raw_to_at = fn.when(is_last, fn.greatest("from_at", "epoch_end")).otherwise(fn.col("next.from_at"))
    is_unseen = fn.when(is_up, fn.coalesce("next.unseen", fn.lit(False))).otherwise(fn.col("unseen"))
    timed = followed.withColumn("ended", ended).select(
        *_MEMBER,
        "number",
        "addr",
        fn.coalesce(fn.try_element_at(fn.col("roles"), fn.lit(-1))["broker_id"], "first_id").alias("broker_id"),
        "state",
        "from_at",
        fn.when(fn.col("ended").isNotNull(), raw_to_at).alias("to_at"),
        "began",
        "ended",
        fn.when(~why.isin(NAMESERVER_STOPPED, LOST) & ~is_unseen, why.isin(*ON_PURPOSE)).alias("planned"),
        is_unseen.alias("unseen"),
        fn.when(is_up, fn.col("next.begin_seen_at")).otherwise(fn.col("begin_seen_at")).alias("seen_at"),
        fn.when(fn.col("ended") == RETURNED, fn.col("next.addr")).alias("returned_addr"),
        "roles",
        "first_id",
        "from_seq",
        fn.coalesce("next.from_seq", "next_epoch").alias("to_seq"),
        "boot",
        "signs",
        "seed",
    )
    seen_at = fn.when(is_up, fn.coalesce("seen_at", "to_at")).otherwise(fn.col("seen_at"))
    return with_series(timed.withColumn("last_seen_at", seen_at), member=_MEMBER)


def _changed_signs(signs: Column) -> Column:
    """Signs of life without those that repeat the start and the timeout of the one before."""

    def is_new(sign: Column, number: Column) -> Column:
        before = fn.get(signs, number - 1)
        is_same = (sign["boot"] == before["boot"]) & sign["timeout_ms"].eqNullSafe(before["timeout_ms"])
        return (number == 0) | ~is_same

    return fn.filter(signs, is_new)


def _unseen() -> Column:
    """Whether a down interval began with the lease of a broker that was recovered and did not register again."""
    is_silent = (fn.col("state") == "down") & fn.col("began").isin(*_SILENT)
    is_other_start = fn.coalesce(fn.col("up_before.sign.boot") != fn.col("boot"), fn.lit(True))
    return fn.coalesce("known_unseen", is_silent & is_other_start)


def _last_seen() -> Column:
    """For a down interval: the last time at which the broker was certainly alive."""
    lease_ms = fn.coalesce("up_before.sign.timeout_ms", fn.lit(_DEFAULT_LEASE_MS)) + _SCAN_MS
    silent_since = fn.timestamp_millis(fn.unix_millis("t") - lease_ms)
    at = (
        fn.when(fn.col("unseen"), fn.coalesce("before_at", silent_since))
        .when(fn.col("began").isin(*_SILENT), silent_since)
        .otherwise(fn.col("t"))
    )
    seen_at = fn.greatest(fn.least(at, "t"), "up_before.from_at")
    return fn.when(fn.col("state") == "down", fn.coalesce("known_seen_at", seen_at))


STEP = Step(BROKER_SPANS, ("observed",), build, kinds=(*_KINDS, "server_started"), progress=Progress.NONE)
