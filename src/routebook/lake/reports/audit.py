"""Who changed what: admin requests, allowed and refused."""

import msgspec

from routebook.lake.reports.scope import Report, Scope, moment

_MOST = 500


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One of them."""

    at: str
    ns: str
    peer: str | None
    who: str | None
    action: str
    target: str | None
    before: str | None
    after: str | None
    allowed: bool


class Audit(Report, frozen=True, kw_only=True):
    """Newest first."""

    requests: list[Request]
    truncated: bool


def audit(scope: Scope, limit: int | None) -> Audit:
    """From `admin_audit`."""
    most = limit or _MOST
    rows = scope.rows(
        "gold.admin_audit",
        f"""SELECT "at", ns, peer, who, action, target, before::VARCHAR AS before, after::VARCHAR AS after,
                   coalesce(allowed, true) AS allowed
            FROM seen WHERE "at" >= {moment(scope.begin)} AND "at" <= {moment(scope.end)}
            ORDER BY "at" DESC, ns LIMIT {most + 1}""",  # noqa: S608
    )
    requests = [Request(**row) for row in rows[:most]]
    return Audit(**scope.common("audit"), requests=requests, truncated=len(rows) > most)
