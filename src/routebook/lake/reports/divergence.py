"""Reports of disagreements between NameServers, and of the time until changes reach all of them."""

import msgspec

from routebook.lake.reports.scope import Report, Scope, seconds_between, show

_DEFAULT_LIMIT = 500
_DEFAULT_SLOWEST = 50


class Interval(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An interval in which two NameServers had different routes."""

    topic: str | None
    broker: str | None
    ns_a: str
    ns_b: str
    addr: str | None
    difference: str | None
    at_a: str | None  # the value at each NameServer
    at_b: str | None
    topics: int | None  # their number, if the difference affects more than one
    from_at: str
    to_at: str | None  # None: still open
    duration_s: float | None

    def description(self) -> str:
        """The difference in words."""
        where = {"missing_a": self.ns_a, "missing_b": self.ns_b}
        difference = self.difference or ""
        return f"missing at {where[difference]}" if difference in where else difference.replace("_", " ")


class Pair(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Two NameServers over the period of the report; overlapping intervals count once in `total_s`."""

    ns_a: str
    ns_b: str
    intervals: int
    total_s: float
    longest_s: float
    open: int


class Divergence(Report, frozen=True, kw_only=True):
    """Newest first."""

    intervals: list[Interval]
    pairs: list[Pair]
    truncated: bool


class Change(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One change, from the first NameServer to the last."""

    change_id: str
    topic: str | None
    broker: str | None
    first_at: str
    last_at: str
    nameservers: int
    spread_ms: int


class Convergence(Report, frozen=True, kw_only=True):
    """Percentiles of the time until a change reaches all NameServers, and the slowest changes."""

    changes: int
    p50_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    slowest: list[Change]


def divergence(scope: Scope, limit: int | None) -> Divergence:
    """From `ns_divergence`."""
    rows = scope.rows(
        "gold.ns_divergence",
        f"""SELECT topic, broker, addr, ns_a, ns_b, difference, at_a, at_b, topics, from_at, to_at FROM scoped
            WHERE {scope.touching("from_at", "to_at")} ORDER BY from_at DESC, ns_a, ns_b, broker, topic""",  # noqa: S608
    )
    found = [
        Interval(**row, duration_s=None if row["to_at"] is None else seconds_between(row["from_at"], row["to_at"]))
        for row in rows
    ]
    names = sorted({(one.ns_a, one.ns_b) for one in found})
    pairs = [_pair(scope, [one for one in found if (one.ns_a, one.ns_b) == name]) for name in names]
    limit = limit or _DEFAULT_LIMIT
    return Divergence(**scope.common("divergence"), intervals=found[:limit], pairs=pairs, truncated=len(found) > limit)


def convergence(scope: Scope, limit: int | None) -> Convergence:
    """From `convergence`: changes that reached more than one NameServer."""
    where = f"nameservers > 1 AND {scope.within('first_at')}"
    (summed,) = scope.rows(
        "gold.convergence",
        f"""SELECT count(*) AS changes, quantile_cont(spread_ms, 0.5) AS p50, quantile_cont(spread_ms, 0.99) AS p99,
                   max(spread_ms) AS most FROM scoped WHERE {where}""",  # noqa: S608
    ) or [{"changes": 0, "p50": None, "p99": None, "most": None}]
    slowest = scope.rows(
        "gold.convergence",
        f"""SELECT change_id::VARCHAR AS change_id, topic, broker, first_at, last_at, nameservers, spread_ms FROM scoped
            WHERE {where} ORDER BY spread_ms DESC, first_at LIMIT {limit or _DEFAULT_SLOWEST}""",  # noqa: S608
    )
    return Convergence(
        **scope.common("convergence"),
        changes=summed["changes"],
        p50_ms=summed["p50"],
        p99_ms=summed["p99"],
        max_ms=summed["most"],
        slowest=[Change(**{**row, "spread_ms": int(row["spread_ms"])}) for row in slowest],
    )


def _pair(scope: Scope, found: list[Interval]) -> Pair:
    now = show(scope.end)
    total = 0.0
    until = ""
    for one in sorted(found, key=lambda one: one.from_at):
        begin, end = max(one.from_at, until), one.to_at or now
        if end > begin:
            total += seconds_between(begin, end)
            until = end
    return Pair(
        ns_a=found[0].ns_a,
        ns_b=found[0].ns_b,
        intervals=len(found),
        total_s=round(total, 3),
        longest_s=max(seconds_between(one.from_at, one.to_at or now) for one in found),
        open=sum(one.to_at is None for one in found),
    )
