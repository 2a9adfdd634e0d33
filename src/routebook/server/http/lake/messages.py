"""What the process that reads the lake is asked, and what it answers. Pure; see lake_child.py."""

import msgspec


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Of which time, and of what."""

    days: int = 30
    zone: str = "UTC"
    ns: str | None = None
    cluster: str | None = None
    limit: int | None = None


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """`report` None: which reports there are, and of which build."""

    lake: str
    report: str | None = None
    options: Options = Options()


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer as JSON, or what is wrong."""

    body: msgspec.Raw = msgspec.Raw(b"null")
    status: int = 200
    error: str = ""
    code: str = ""
    command: str | None = None


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """One report that there is."""

    name: str
    title: str


class ListedBuild(msgspec.Struct, frozen=True, kw_only=True):
    """What is published."""

    id: str
    at: str
    events: int | None


class ReportsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Which reports there are, and of which build of the lake."""

    build: ListedBuild
    built_at_ms: int
    reports: list[Listed]
