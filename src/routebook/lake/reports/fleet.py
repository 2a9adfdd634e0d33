"""The fleet's view of outages: one outage of a broker, as all NameServers saw it.

Every NameServer has its own rows in `outage_impact`. Rows of one broker (cluster and name, and the same id or address)
that overlap in time are one outage of the fleet. It begins when the first NameServer removed the broker and ends when
the last one had it again; `seen_by` of the `nameservers` that knew the broker and ran then saw it.
"""

from typing import Any

import msgspec

from routebook.lake.reports.scope import Scope, seconds_between, show

TABLE = "gold.outage_impact"
_SINCE_RELEASE = ("broker_id", "retired", "last_seen_at", "returned_addr")  # columns that older lakes lack


class FleetOutage(msgspec.Struct, frozen=True, kw_only=True):
    """One outage; `rows` are those of `outage_impact`."""

    cluster: str | None
    broker: str
    broker_id: int | None
    addr: str
    returned_addr: str | None
    from_at: str
    to_at: str | None  # None: still down
    last_seen_at: str
    reason: str | None
    planned: bool
    retired: bool
    seen_by: list[str]
    nameservers: int
    rows: list[dict[str, Any]]

    @property
    def is_counted(self) -> bool:
        """Unplanned, and not of a broker that an operator retired."""
        return not self.planned and not self.retired

    @property
    def min_s(self) -> float | None:
        """From its detection to the return."""
        return None if self.to_at is None else seconds_between(self.from_at, self.to_at)

    @property
    def max_s(self) -> float | None:
        """From the last sign of life to the return."""
        return None if self.to_at is None else seconds_between(self.last_seen_at, self.to_at)


def fleet_outages(scope: Scope) -> list[FleetOutage]:
    """All outages that touch the period, in the order of their begin."""
    scope.require(TABLE, *_SINCE_RELEASE)
    rows = scope.rows(
        TABLE,
        f"SELECT * FROM scoped WHERE {scope.touching('from_at', 'to_at')} ORDER BY from_at, ns, addr",  # noqa: S608
    )
    runs = _Runs(scope)
    return [_merged(group, runs) for group in _grouped(rows)]


class _Runs:
    """When each NameServer ran, and which brokers it knew."""

    def __init__(self, scope: Scope) -> None:
        self._runs = scope.rows_unscoped(
            "silver.observed",
            """SELECT ns, from_at, coalesce(to_at, seen_until) AS until, to_at IS NULL AS is_running
               FROM silver.observed""",
        )
        known = scope.rows("silver.broker_spans", "SELECT DISTINCT ns, cluster, broker FROM scoped")
        self._known = {(row["ns"], row["cluster"], row["broker"]) for row in known}
        self._end = show(scope.end)

    def is_running(self, ns: str) -> bool:
        return any(run["ns"] == ns and run["is_running"] for run in self._runs)

    def that_saw(self, cluster: str | None, broker: str, begin: str, end: str | None) -> set[str]:
        until = end or self._end
        return {
            run["ns"]
            for run in self._runs
            if (run["ns"], cluster, broker) in self._known and run["from_at"] <= until and run["until"] >= begin
        }


def _grouped(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows of the same broker that overlap, in the order of their begin."""
    found: list[list[dict[str, Any]]] = []
    recent: dict[tuple[str | None, str], list[list[dict[str, Any]]]] = {}
    for row in rows:
        groups = recent.setdefault((row["cluster"], row["broker"]), [])
        groups[:] = [group for group in groups if any(_reaches(one, row["from_at"]) for one in group)]
        mine = next((group for group in groups if _is_same(group, row)), None)
        if mine is None:
            mine = []
            groups.append(mine)
            found.append(mine)
        mine.append(row)
    return found


def _reaches(row: dict[str, Any], at: str) -> bool:
    return row["to_at"] is None or row["to_at"] >= at


def _is_same(group: list[dict[str, Any]], row: dict[str, Any]) -> bool:
    """One outage has one row per NameServer."""
    return all(one["ns"] != row["ns"] for one in group) and any(
        one["addr"] == row["addr"] or (one["broker_id"] is not None and one["broker_id"] == row["broker_id"])
        for one in group
    )


def _merged(rows: list[dict[str, Any]], runs: _Runs) -> FleetOutage:
    first = rows[0]
    # a NameServer that was shut down for good has not observed the end
    ends = [row["to_at"] for row in rows if row["to_at"] is not None or runs.is_running(row["ns"])]
    to_at = None if not ends or None in ends else max(ends)
    from_at = min(row["from_at"] for row in rows)
    seen_by = sorted({row["ns"] for row in rows})
    return FleetOutage(
        cluster=first["cluster"],
        broker=first["broker"],
        broker_id=first["broker_id"],
        addr=first["addr"],
        returned_addr=None if to_at is None else next((r["returned_addr"] for r in rows if r["to_at"] == to_at), None),
        from_at=from_at,
        to_at=to_at,
        # the broker was alive when any NameServer saw it last
        last_seen_at=min(from_at, max(row["last_seen_at"] or row["from_at"] for row in rows)),
        reason=next((row["reason"] for row in rows if row["reason"]), None),
        planned=any(row["planned"] for row in rows),
        retired=any(row["retired"] for row in rows),
        seen_by=seen_by,
        nameservers=len(runs.that_saw(first["cluster"], first["broker"], from_at, to_at) | set(seen_by)),
        rows=rows,
    )
