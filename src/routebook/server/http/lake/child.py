"""The process that reads the lake. Reads one JSON query per line from stdin and writes one JSON result per line."""

import sys
from typing import TYPE_CHECKING, Final

import msgspec

from routebook.errors import UsageError
from routebook.lake.errors import LakeError
from routebook.lake.read.open import open_lake
from routebook.lake.reports import REPORTS, make_report
from routebook.server.http.lake.messages import Listed, ListedBuild, Query, ReportsAnswer, Result

if TYPE_CHECKING:
    from routebook.lake.read.reader import Build, Lake

_lakes: Final["dict[str, Lake]"] = {}


def run(query: Query) -> Result:
    """Run one query; failures become an error result."""
    try:
        if query.lake not in _lakes:
            _lakes[query.lake] = open_lake(query.lake)
        lake = _lakes[query.lake]
        if query.report is None:
            return Result(body=_json(_list_reports(lake)))
        if query.report not in REPORTS:
            known = ", ".join(REPORTS)
            return Result(status=404, error=f"report not found; the reports are {known}", code="no-report")
        return Result(body=_json(make_report(lake, query.report, **msgspec.structs.asdict(query.options))))
    except UsageError as problem:
        return Result(status=400, error=str(problem), code="bad-question")
    except LakeError as problem:
        _lakes.pop(query.lake, None)
        return Result(
            status=problem.status, error=str(problem), code=problem.code, command=getattr(problem, "command", None)
        )


def _json(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _list_reports(lake: "Lake") -> ReportsAnswer:
    build = lake.build()
    events = build.facts.get("events")
    return ReportsAnswer(
        build=ListedBuild(id=build.id, at=build.at.isoformat(), events=events if isinstance(events, int) else None),
        built_at_ms=int(build.at.timestamp() * 1000),
        reports=[Listed(name=name, title=known.title) for name, known in REPORTS.items()],
        nameservers=_values(lake, build, "silver.observed", "ns"),
        clusters=_values(lake, build, "silver.broker_spans", "cluster"),
    )


def _values(lake: "Lake", build: "Build", table: str, column: str) -> list[str]:
    """The distinct values of a column."""
    if all(known.name != column for known in lake.columns(table, build=build)):
        return []  # built by an earlier release
    sql = f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1"  # noqa: S608  # own names
    return lake.cached((build.id, table, column), lambda: [str(row[0]) for row in lake.query(sql, as_of=build.id).rows])


def main() -> None:
    decode, encode = msgspec.json.Decoder(Query).decode, msgspec.json.encode
    for line in sys.stdin.buffer:
        try:
            result = run(decode(line))
        except Exception as error:  # noqa: BLE001  one failed query must not end the process
            result = Result(status=500, error=f"{type(error).__name__}: {error}", code="lake-failed")
        sys.stdout.buffer.write(encode(result) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
