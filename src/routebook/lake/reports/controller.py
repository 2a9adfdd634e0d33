"""Report of the Controller: failovers, time without a master, unclean elections, replicas out of sync."""

import msgspec

from routebook.lake.reports.scope import Report, Scope, moment

_DEFAULT_LIMIT = 500


class Election(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One election; `master_id` is None if it found no candidate."""

    at: str
    ns: str
    cluster: str
    broker: str
    outcome: str
    cause: str
    unclean: bool
    master_id: int | None
    before_id: int | None
    master_epoch: int
    failover_s: float | None


class BrokerSet(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One set over the period of the report."""

    cluster: str
    broker: str
    elections: int
    failovers: int
    longest_failover_s: float | None
    without_master_s: float  # all failovers, and the time since a loss that nothing has ended
    without_master: bool  # at the end of the data
    unclean: int
    out_of_sync_s: float  # time in which a replica was not in sync
    out_of_sync: list[int]  # at the end of the data


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """The number of elections with a cause."""

    cause: str
    elections: int


class Controller(Report, frozen=True, kw_only=True):
    """Sets by time without a master, longest first; elections newest first."""

    failovers: int
    failover_p50_s: float | None
    failover_max_s: float | None
    without_master_s: float
    unclean: int
    causes: list[Cause]
    sets: list[BrokerSet]
    elections: list[Election]
    truncated: bool


def controller(scope: Scope, limit: int | None) -> Controller:
    """From `elections` and `sync_state`."""
    limit = limit or _DEFAULT_LIMIT
    rows = scope.rows(
        "gold.elections",
        f"""SELECT "at", ns, cluster, broker, outcome, cause, unclean, master_id, before_id, master_epoch, failover_s
            FROM scoped WHERE {scope.within('"at"')} ORDER BY "at" DESC, ns, seq DESC""",  # noqa: S608
    )
    elections = [Election(**row) for row in rows]
    sets = sorted(_sets(scope, elections), key=lambda one: (-one.without_master_s, one.cluster, one.broker))
    lasted = sorted(one.failover_s for one in elections if one.failover_s is not None)
    causes = {one.cause: sum(other.cause == one.cause for other in elections) for one in elections}
    return Controller(
        **scope.common("controller"),
        failovers=len(lasted),
        failover_p50_s=lasted[len(lasted) // 2] if lasted else None,
        failover_max_s=lasted[-1] if lasted else None,
        without_master_s=round(sum(one.without_master_s for one in sets), 3),
        unclean=sum(one.unclean for one in elections),
        causes=[Cause(cause=cause, elections=number) for cause, number in sorted(causes.items())],
        sets=sets,
        elections=elections[:limit],
        truncated=len(elections) > limit,
    )


def _sets(scope: Scope, elections: list[Election]) -> list[BrokerSet]:
    begin, end = moment(scope.begin), moment(scope.end)
    inside = f"date_diff('millisecond', greatest(from_at, {begin}), least(coalesce(to_at, {end}), {end})) / 1000.0"
    states = scope.rows(
        "gold.sync_state",
        f"""SELECT cluster, broker,
                   sum(CASE WHEN len(out_of_sync) > 0 AND master_id IS NOT NULL THEN {inside} ELSE 0 END) AS out_s,
                   arg_max(out_of_sync, from_at) FILTER (to_at IS NULL) AS out_now,
                   coalesce(bool_or(master_id IS NULL AND master_epoch > 0) FILTER (to_at IS NULL), false) AS none_now,
                   sum(CASE WHEN to_at IS NULL AND master_id IS NULL AND master_epoch > 0 THEN {inside} ELSE 0 END)
                       AS none_s
            FROM scoped WHERE {scope.touching("from_at", "to_at")} GROUP BY cluster, broker""",  # noqa: S608
    )
    found = {(row["cluster"], row["broker"]): row for row in states}
    names = sorted({*found, *((one.cluster, one.broker) for one in elections)})
    return [
        _set(name, [one for one in elections if (one.cluster, one.broker) == name], found.get(name)) for name in names
    ]


def _set(name: tuple[str, str], elections: list[Election], state: dict[str, object] | None) -> BrokerSet:
    lasted = [one.failover_s for one in elections if one.failover_s is not None]
    facts = msgspec.convert(state or {}, _State, strict=False)
    return BrokerSet(
        cluster=name[0],
        broker=name[1],
        elections=len(elections),
        failovers=len(lasted),
        longest_failover_s=max(lasted, default=None),
        without_master_s=round(sum(lasted) + facts.none_s, 3),
        without_master=facts.none_now,
        unclean=sum(one.unclean for one in elections),
        out_of_sync_s=round(facts.out_s, 3),
        out_of_sync=facts.out_now or [],
    )


class _State(msgspec.Struct):
    """What `sync_state` has about a set."""

    out_s: float = 0.0
    out_now: list[int] | None = None
    none_now: bool = False
    none_s: float = 0.0
