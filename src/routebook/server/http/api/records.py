"""`/v1/records`: what happened, newest first, page by page, out of the journal."""

from typing import Annotated

import msgspec
from litestar import get
from litestar.params import QueryParameter

from routebook.journal.read.backwards import Page, find_newest
from routebook.journal.read.select import Selection
from routebook.journal.segments import list_segments
from routebook.server.http.api.dependencies import Context, Thread
from routebook.server.http.api.events import Names, kinds_of
from routebook.server.http.api.times import parse_time
from routebook.server.http.errors import Refusal, documented
from routebook.server.http.live.hub import MINUTES
from routebook.server.http.live.shortened import LiveEvent, shortened

Number = Annotated[int | None, QueryParameter(ge=0, le=2**63 - 1, description="a record's number")]


class RecordsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Records, newest first. To go on, give `scanned_to` as `before`: a search ends after so many records."""

    records: list[LiveEvent]
    first_seq: int | None  # of what the journal keeps
    last_seq: int | None
    more: bool
    scanned: int
    scanned_to: int | None


@get("/v1/records", summary="What happened, newest first", responses=documented(503))
async def records(
    context: Context,
    threads: Thread,
    before: Number = None,
    after: Number = None,
    at: Annotated[str | None, QueryParameter(description="not later than this time: ms or ISO 8601")] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="how many at most")] = 100,
    kind: Names = None,
    broker: Names = None,
    topic: Names = None,
) -> RecordsAnswer:
    """Out of the journal, shortened; without `kind`, what is counted by the minute is left out."""
    files, writer = context.journal_files, context.journal
    if files is None or writer is None:
        raise Refusal(503, "nothing is remembered here", "it is with routebook.journal.enabled=true")
    kinds = kinds_of(kind)
    wanted = Selection(kinds=kinds, brokers=frozenset(broker or ()), topics=frozenset(topic or ()))
    page = Page(
        limit=limit,
        before=before,
        after=after or 0,
        at_ms=None if at is None else parse_time(at),
        excluded_kinds=MINUTES - kinds,
    )
    try:
        found = await threads.run(lambda: find_newest(files, page, wanted))
    except OSError as problem:
        raise Refusal(
            503, f"the journal cannot be read: {problem.strerror or problem}", "/v1/health says more"
        ) from None
    segments = list_segments(files.names()).segments
    return RecordsAnswer(
        records=[shortened(record) for record in found.records],
        first_seq=segments[0].first if segments else None,
        last_seq=writer.status().last_seq or None,
        more=found.reached is not None,
        scanned=found.looked_at,
        scanned_to=found.reached,
    )
