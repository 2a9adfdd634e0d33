"""Messages between the HTTP server and the process that reads the lake (child.py). Pure."""

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Time range and filters of a report."""

    days: int = 30
    zone: str = "UTC"
    ns: str | None = None
    cluster: str | None = None
    limit: int | None = None


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A report, or the list of reports if `report` is None."""

    lake: str
    report: str | None = None
    options: Options = Options()


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result as JSON, or an error."""

    body: msgspec.Raw = msgspec.Raw(b"null")
    status: int = 200
    error: str = ""
    code: str = ""
    command: str | None = None


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One available report."""

    name: str
    title: str


class ListedBuild(msgspec.Struct, frozen=True, kw_only=True):
    """The published build of the lake."""

    id: str
    at: str
    events: int | None


class ReportsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The available reports, and the build of the lake that they read."""

    build: ListedBuild
    built_at_ms: int
    reports: list[Listed]
    nameservers: list[str]  # that a report can be restricted to
    clusters: list[str]
