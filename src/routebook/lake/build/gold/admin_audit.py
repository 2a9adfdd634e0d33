"""gold.admin_audit: admin requests, allowed and denied."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from routebook.lake.build.step import Inputs, Step
from routebook.lake.tables.gold import ADMIN_AUDIT

_KINDS = (
    "kv_changed",
    "setting_changed",
    "permission_wiped",
    "permission_restored",
    "topic_deleted",
    "topics_changed",
    "broker_down",
    "request_denied",
    "master_elected",
    "no_master_elected",
    "replicas_cleaned",
)
_ELECTIONS = ("master_elected", "no_master_elected")


def build(inputs: Inputs) -> DataFrame:
    """One row per request; a topic registered on several brokers has one row per broker."""
    kind = fn.col("kind")
    is_admins = (
        ~kind.isin("topics_changed", "broker_down", *_ELECTIONS)
        | ((kind == "topics_changed") & (fn.col("cause") == "register_topic"))
        | ((kind == "broker_down") & (fn.col("reason") == "deregistered"))
        | (kind.isin(*_ELECTIONS) & (fn.col("cause") == "operator"))
    )
    return (
        inputs.events(*_KINDS)
        .where(is_admins)
        .select(
            "at",
            "ns",
            "peer",
            "who",
            _action(kind).alias("action"),
            _target(kind).alias("target"),
            _before(kind).alias("before"),
            _after(kind).alias("after"),
            (kind != "request_denied").alias("allowed"),
            "code",
            "why",
            # by `at`, not `t`: events are read by it
            fn.to_date("at").alias("day"),
            "seq",
        )
    )


def _action(kind: Column) -> Column:
    return (
        fn.when(kind == "kv_changed", fn.when(fn.col("deleted"), "kv_deleted").otherwise("kv_put"))
        .when(kind == "topics_changed", "topic_registered")
        .when(kind == "broker_down", "broker_deregistered")
        .when(kind == "request_denied", "denied")
        .otherwise(kind)
    )


def _target(kind: Column) -> Column:
    return (
        fn.when(kind == "kv_changed", fn.concat_ws("/", "namespace", "key"))
        .when(kind == "setting_changed", fn.col("key"))
        .when(kind == "topic_deleted", fn.col("topic"))
        .when(kind == "topics_changed", fn.concat_ws(",", _topics()))
        .when(kind == "broker_down", fn.concat_ws(" at ", "broker", "addr"))
        .when(kind == "request_denied", fn.col("code").cast("string"))
        .otherwise(fn.col("broker"))
    )


def _topics() -> Column:
    none = fn.array().cast("array<string>")
    return fn.sort_array(fn.concat(fn.coalesce(fn.map_keys("added"), none), fn.coalesce(fn.map_keys("changed"), none)))


def _before(kind: Column) -> Column:
    was = fn.transform(fn.map_values("changed"), lambda pair: _queues(fn.get(pair, 0)))
    return (
        fn.when(kind == "topic_deleted", fn.concat_ws(",", "brokers"))
        .when(kind == "topics_changed", _on_broker(was))
        .when(kind.isin(*_ELECTIONS), _master("before_id", "before_addr"))
        .when(
            kind == "replicas_cleaned",
            _replicas(fn.array_union(fn.coalesce("members", fn.array().cast("array<bigint>")), "broker_ids")),
        )
        .otherwise(fn.col("before"))
    )


def _after(kind: Column) -> Column:
    none = fn.array().cast("array<string>")
    new = fn.transform(fn.map_values("added"), _queues)
    changed = fn.transform(fn.map_values("changed"), lambda pair: _queues(fn.get(pair, 1)))
    return (
        fn.when(kind.startswith("permission_"), fn.concat(fn.col("topic_count").cast("string"), fn.lit(" topics")))
        .when(kind == "topics_changed", _on_broker(fn.concat(fn.coalesce(new, none), fn.coalesce(changed, none))))
        .when(kind == "master_elected", _master("broker_id", "addr"))
        .when(kind == "no_master_elected", _master("before_id", "before_addr"))
        .when(kind == "replicas_cleaned", fn.when(~fn.col("removed_set"), _replicas(fn.col("members"))))
        .otherwise(fn.col("after"))
    )


def _master(number: str, addr: str) -> Column:
    return fn.when(fn.col(number).isNotNull(), fn.concat_ws(" at ", fn.col(number).cast("string"), addr))


def _replicas(ids: Column) -> Column:
    return fn.concat(fn.lit("replicas "), fn.array_join(fn.sort_array(ids), ", "))


def _on_broker(shapes: Column) -> Column:
    return fn.when(fn.size(shapes) > 0, fn.concat_ws(": ", fn.col("broker"), fn.concat_ws(", ", shapes)))


def _queues(shape: Column) -> Column:
    return fn.format_string("perm %d, read %d, write %d", fn.get(shape, 0), fn.get(shape, 1), fn.get(shape, 2))


STEP = Step(ADMIN_AUDIT, reads=(), build=build, kinds=_KINDS)
