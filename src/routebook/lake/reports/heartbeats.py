"""Reports of heartbeat regularity, and of the trade-off between heartbeat timeouts."""

import msgspec

from routebook.lake.reports.scope import Report, Scope

_DEFAULT_LIMIT = 200


class Point(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One candidate timeout."""

    timeout_ms: int
    candidate: float | None
    false_per_broker_day: float
    mean_detection_s: float
    recommended: bool


class Curve(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """All candidates of one detector for one cluster at one NameServer."""

    ns: str
    cluster: str | None
    detector: str | None
    points: list[Point]


class Advice(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A recommended timeout."""

    ns: str
    cluster: str | None
    detector: str | None
    timeout_ms: int
    false_per_broker_day: float
    mean_detection_s: float
    reason: str | None


class Tradeoff(Report, frozen=True, kw_only=True):
    """Computed from all days in the lake."""

    curves: list[Curve]
    advice: list[Advice]


class Regularity(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One broker; the percentiles of its worst day."""

    cluster: str | None
    broker: str
    addr: str  # the last one
    beats: int
    gap_p50_ms: int
    gap_p99_ms: int
    gap_max_ms: int


class Heartbeats(Report, frozen=True, kw_only=True):
    """Highest p99 first."""

    brokers: list[Regularity]
    truncated: bool


def tradeoff(scope: Scope, limit: int | None) -> Tradeoff:
    """From `detector_tradeoff`."""
    columns = scope.columns("gold.detector_tradeoff")
    extra = ", ".join(
        name if name in columns else f"NULL AS {name}" for name in ("cluster", "detector", "candidate", "reason")
    )
    rows = scope.rows(
        "gold.detector_tradeoff",
        f"""SELECT ns, {extra}, timeout_ms, false_suspicions_per_broker_day AS false_alarms, mean_detection_s,
                   coalesce(recommended, false) AS recommended
            FROM scoped WHERE timeout_ms IS NOT NULL ORDER BY ALL""",  # noqa: S608
    )
    curves: dict[tuple[str, str, str], Curve] = {}
    advice = []
    for row in rows:
        ns, cluster, detector = row["ns"], row["cluster"], row["detector"]
        curve = curves.setdefault(
            (ns, cluster or "", detector or ""), Curve(ns=ns, cluster=cluster, detector=detector, points=[])
        )
        point = Point(
            timeout_ms=row["timeout_ms"],
            candidate=row["candidate"],
            false_per_broker_day=row["false_alarms"] or 0.0,
            mean_detection_s=row["mean_detection_s"] or 0.0,
            recommended=row["recommended"],
        )
        curve.points.append(point)
        if point.recommended:
            advice.append(
                Advice(
                    ns=ns,
                    cluster=cluster,
                    detector=detector,
                    timeout_ms=point.timeout_ms,
                    false_per_broker_day=point.false_per_broker_day,
                    mean_detection_s=point.mean_detection_s,
                    reason=row["reason"],
                )
            )
    for curve in curves.values():
        curve.points.sort(key=lambda one: one.timeout_ms)
    return Tradeoff(**scope.common("tradeoff"), curves=list(curves.values())[:limit], advice=advice)


def heartbeats(scope: Scope, limit: int | None) -> Heartbeats:
    """From `heartbeat_quality`."""
    limit = limit or _DEFAULT_LIMIT
    columns = scope.columns("gold.heartbeat_quality")
    cluster = "cluster" if "cluster" in columns else "NULL"
    same = "coalesce(broker_id::VARCHAR, addr)" if "broker_id" in columns else "addr"  # a broker is its id
    rows = scope.rows(
        "gold.heartbeat_quality",
        f"""SELECT {cluster} AS cluster, broker, arg_max(addr, day) AS addr, sum(beats)::BIGINT AS beats,
                   max(gap_p50_ms) AS gap_p50_ms, max(gap_p99_ms) AS gap_p99_ms, max(gap_max_ms) AS gap_max_ms
            FROM scoped WHERE {scope.on_days()} GROUP BY {cluster}, broker, {same}
            ORDER BY gap_p99_ms DESC NULLS LAST, gap_max_ms DESC, broker, addr LIMIT {limit + 1}""",  # noqa: S608
    )
    gaps = ("gap_p50_ms", "gap_p99_ms", "gap_max_ms")
    brokers = [Regularity(**(row | {name: row[name] or 0 for name in gaps})) for row in rows]
    return Heartbeats(**scope.common("heartbeats"), brokers=brokers[:limit], truncated=len(rows) > limit)
