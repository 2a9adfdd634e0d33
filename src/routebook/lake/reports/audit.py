"""Report of admin requests, allowed and denied."""

import msgspec

from routebook.lake.reports.scope import Report, Scope

_DEFAULT_LIMIT = 500


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One admin request."""

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
    limit = limit or _DEFAULT_LIMIT
    rows = scope.rows(
        "gold.admin_audit",
        f"""SELECT "at", ns, peer, who, action, target, before::VARCHAR AS before, after::VARCHAR AS after,
                   coalesce(allowed, true) AS allowed
            FROM scoped WHERE {scope.within('"at"')}
            ORDER BY "at" DESC, ns LIMIT {limit + 1}""",  # noqa: S608
    )
    requests = [Request(**row) for row in rows[:limit]]
    return Audit(**scope.common("audit"), requests=requests, truncated=len(rows) > limit)
