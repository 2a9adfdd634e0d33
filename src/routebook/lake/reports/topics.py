"""Reports of topic placement and of route look-ups."""

from typing import Any

import msgspec

from routebook.codes import version_text
from routebook.lake.reports.own_topics import OwnTopics
from routebook.lake.reports.scope import Report, Scope

_DEFAULT_LIMIT = 200
_BINS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)  # 1 is even; with 2, one broker has twice its share
SKEWED = 1.5


class Topic(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A topic on the last day."""

    ns: str
    cluster: str | None
    topic: str
    brokers: int
    write_queues: int
    read_queues: int
    skew: float | None
    single_broker: bool
    no_master: bool


class Totals(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Number of topics with each problem."""

    topics: int
    single_broker: int
    no_master: int
    skewed: int


class Bin(msgspec.Struct, frozen=True, kw_only=True):
    """Topics with a skew in this range; the last bin has no upper bound."""

    from_: float = msgspec.field(name="from")
    to: float | None
    topics: int


class Placement(Report, frozen=True, kw_only=True):
    """Topics with the greatest risk first."""

    day: str | None
    topics: list[Topic]
    totals: Totals
    skew_histogram: list[Bin]
    truncated: bool


class Hour(msgspec.Struct, frozen=True, kw_only=True):
    hour: str
    lookups: int
    misses: int
    bytes: int


class TopicDemand(msgspec.Struct, frozen=True, kw_only=True):
    """Look-ups of one topic."""

    topic: str
    lookups: int
    misses: int
    bytes: int
    clients: int


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """Clients by language and RocketMQ version, as they report them; empty: not reported."""

    language: str
    version: str
    clients: int
    lookups: int


class Demand(Report, frozen=True, kw_only=True):
    """Hours in order; topics and languages by number of look-ups."""

    hours: list[Hour]
    topics: list[TopicDemand]
    languages: list[Language]


def placement(scope: Scope, limit: int | None) -> Placement:
    """From the last day of `topic_placement`, without RocketMQ's own topics; if NameServers differ, the worse value."""
    own = OwnTopics(scope).sql("topic")
    last = f"day = (SELECT max(day) FROM scoped WHERE day <= '{scope.days[-1].day}')"  # noqa: S608
    limit = limit or _DEFAULT_LIMIT
    each = f"""SELECT day, min(ns) AS ns, cluster, topic, min(brokers) AS brokers, min(write_queues) AS write_queues,
                      min(read_queues) AS read_queues, max(skew) AS skew, bool_or(single_broker) AS single_broker,
                      bool_or(no_master) AS no_master
               FROM scoped WHERE {last} AND NOT {own} GROUP BY day, cluster, topic"""  # noqa: S608
    rows = scope.rows(
        "gold.topic_placement",
        f"{each} ORDER BY no_master DESC, single_broker DESC, skew DESC NULLS LAST, topic LIMIT {limit + 1}",
    )
    bins = ", ".join(f"count(*) FILTER ({_within(begin, end)}) AS b{n}" for n, (begin, end) in enumerate(_edges()))
    (summed,) = scope.rows(
        "gold.topic_placement",
        f"""SELECT count(*) AS topics, count(*) FILTER (single_broker) AS single_broker,
                   count(*) FILTER (no_master) AS no_master, count(*) FILTER (skew >= {SKEWED}) AS skewed, {bins}
            FROM ({each})""",  # noqa: S608
    ) or [{}]
    return Placement(
        **scope.common("placement"),
        day=rows[0]["day"] if rows else None,
        topics=[Topic(**_without_day(row)) for row in rows[:limit]],
        totals=Totals(**{name: summed.get(name, 0) for name in Totals.__struct_fields__}),
        skew_histogram=[
            Bin(from_=begin, to=end, topics=summed.get(f"b{n}", 0)) for n, (begin, end) in enumerate(_edges())
        ],
        truncated=len(rows) > limit,
    )


def demand(scope: Scope, limit: int | None) -> Demand:
    """From `lookup_demand`."""
    where = scope.within("hour")
    sums = "sum(lookups)::BIGINT AS lookups, sum(misses)::BIGINT AS misses, sum(bytes)::BIGINT AS bytes"
    table = "gold.lookup_demand"
    hours = scope.rows(table, f"SELECT hour, {sums} FROM scoped WHERE {where} GROUP BY hour ORDER BY hour")  # noqa: S608
    topics = scope.rows(
        table,
        f"""SELECT coalesce(topic, '') AS topic, {sums}, count(DISTINCT client) AS clients FROM scoped WHERE {where}
            GROUP BY 1 ORDER BY lookups DESC, 1 LIMIT {limit or _DEFAULT_LIMIT}""",  # noqa: S608
    )
    languages = scope.rows(
        table,
        f"""SELECT coalesce(language, '') AS language, coalesce(version, 0) AS version,
                   count(DISTINCT client) AS clients, sum(lookups)::BIGINT AS lookups
            FROM scoped WHERE {where} GROUP BY 1, 2 ORDER BY lookups DESC, 1, 2 LIMIT 50""",  # noqa: S608
    )
    return Demand(
        **scope.common("demand"),
        hours=[Hour(**row) for row in hours],
        topics=[TopicDemand(**row) for row in topics],
        languages=[
            Language(**{**row, "version": version_text(row["version"]) if row["version"] else ""}) for row in languages
        ],
    )


def _edges() -> list[tuple[float, float | None]]:
    return list(zip(_BINS, (*_BINS[1:], None), strict=True))


def _within(begin: float, end: float | None) -> str:
    least = f"coalesce(skew, 1) >= {begin}"
    return least if end is None else f"{least} AND coalesce(skew, 1) < {end}"


def _without_day(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in row.items() if name != "day"}
    return {**kept, "single_broker": bool(kept["single_broker"]), "no_master": bool(kept["no_master"])}
