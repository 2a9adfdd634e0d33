"""A process of its own that reads the lake: what that takes is large and busy, and not for the NameServer's process.

One question a line on stdin, one answer a line on stdout, as JSON, until stdin ends.
"""

import sys
from typing import TYPE_CHECKING, Final

import msgspec

from routebook.errors import UsageError
from routebook.lake.errors import LakeError
from routebook.lake.read.open import open_lake
from routebook.lake.reports import REPORTS, make_report
from routebook.server.http.lake.messages import Answer, Listed, ListedBuild, Question, ReportsAnswer

if TYPE_CHECKING:
    from routebook.lake.read.reader import Lake

_open: Final["dict[str, Lake]"] = {}


def answer(question: Question) -> Answer:
    try:
        if question.lake not in _open:
            _open[question.lake] = open_lake(question.lake)
        lake = _open[question.lake]
        if question.report is None:
            return Answer(body=_json(_listed(lake)))
        if question.report not in REPORTS:
            known = ", ".join(REPORTS)
            return Answer(status=404, error=f"there is no such report; there are {known}", code="no-report")
        chosen = question.options
        report = make_report(
            lake,
            question.report,
            days=chosen.days,
            zone=chosen.zone,
            ns=chosen.ns,
            cluster=chosen.cluster,
            limit=chosen.limit,
        )
        return Answer(body=_json(report))
    except UsageError as problem:
        return Answer(status=400, error=str(problem), code="bad-question")
    except LakeError as problem:
        _open.pop(question.lake, None)
        return Answer(
            status=problem.status, error=str(problem), code=problem.code, command=getattr(problem, "command", None)
        )


def _json(value: object) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _listed(lake: "Lake") -> ReportsAnswer:
    build = lake.build()
    events = build.facts.get("events")
    return ReportsAnswer(
        build=ListedBuild(id=build.id, at=build.at.isoformat(), events=events if isinstance(events, int) else None),
        built_at_ms=int(build.at.timestamp() * 1000),
        reports=[Listed(name=name, title=known.title) for name, known in REPORTS.items()],
    )


def main() -> None:
    decode, encode = msgspec.json.Decoder(Question).decode, msgspec.json.encode
    for line in sys.stdin.buffer:
        try:
            found = answer(decode(line))
        except Exception as error:  # noqa: BLE001  around one question: the next may have an answer
            found = Answer(status=500, error=f"{type(error).__name__}: {error}", code="lake-failed")
        sys.stdout.buffer.write(encode(found) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
