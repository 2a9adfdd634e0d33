"""`/v1/records`: journal records, newest first, in pages."""

from typing import Annotated

import msgspec
from litestar import get
from litestar.params import QueryParameter

from routebook.journal.read.backwards import Page, find_newest
from routebook.journal.segments import list_segments
from routebook.server.http.api.dependencies import ContextDep, ThreadsDep
from routebook.server.http.api.parameters import Names, SmallLimit, parse_selection, parse_time
from routebook.server.http.errors import ApiError, error_specs
from routebook.server.http.live.event_summary import LiveEvent, summarize
from routebook.server.http.live.hub import MINUTE_KINDS

Seq = Annotated[int | None, QueryParameter(ge=0, le=2**63 - 1, description="a sequence number")]


class RecordsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Records, newest first. A search scans a limited number of records; pass `scanned_to` as `before` to go on."""

    records: list[LiveEvent]
    first_seq: int | None  # oldest record in the journal
    last_seq: int | None
    more: bool
    scanned: int
    scanned_to: int | None


@get("/v1/records", summary="Journal records, newest first", responses=error_specs(503))
async def records(
    context: ContextDep,
    threads: ThreadsDep,
    before: Seq = None,
    after: Seq = None,
    at: Annotated[str | None, QueryParameter(description="at this time or earlier: ms or ISO 8601")] = None,
    limit: SmallLimit = 100,
    kind: Names = None,
    broker: Names = None,
    topic: Names = None,
) -> RecordsAnswer:
    """Shortened records; without `kind`, per-minute counts are omitted."""
    files, writer = context.journal_files, context.journal
    if files is None or writer is None:
        raise ApiError(503, "the journal is off", "set routebook.journal.enabled=true")
    wanted = parse_selection(kinds=kind, brokers=broker, topics=topic)
    page = Page(
        limit=limit,
        before=before,
        after=after or 0,
        at_ms=None if at is None else parse_time(at),
        excluded_kinds=MINUTE_KINDS - wanted.kinds,
    )
    try:
        found = await threads.run(lambda: find_newest(files, page, wanted))
    except OSError as problem:
        why = f"cannot read the journal: {problem.strerror or problem}"
        raise ApiError(503, why, "/v1/health shows the state of the journal") from None
    segments = list_segments(files.names()).segments
    return RecordsAnswer(
        records=[summarize(record) for record in found.records],
        first_seq=segments[0].first if segments else None,
        last_seq=writer.status().last_seq or None,
        more=found.reached is not None,
        scanned=found.looked_at,
        scanned_to=found.reached,
    )
