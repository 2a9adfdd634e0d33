"""`/v1/events` and `/v1/records`: live events, and journal records in pages.

A client that reconnects to `/v1/events` gets everything since, without gaps or duplicates:

Last-Event-ID ─► journal, up to what is on disk        nothing is buffered for the reader meanwhile
                 subscribe to the feed at number n
                 journal, up to n                      waits for the disk; the feed's bounded queue buffers the rest
                 feed, from n + 1 on
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, Final

import msgspec
from litestar import Request, get
from litestar.params import QueryParameter
from litestar.response import Stream

from routebook.journal.read.backwards import Page, find_newest
from routebook.journal.read.select import Selection
from routebook.journal.segments import list_segments
from routebook.server.http.api.parameters import Names, SmallLimit, parse_selection, parse_time
from routebook.server.http.api.parts import PartsDep
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError, error_specs, response_spec
from routebook.server.http.live.hub import MINUTE_KINDS
from routebook.server.http.live.journal_window import Entry, JournalWindow
from routebook.server.http.live.messages import LiveEvent, summarize
from routebook.server.state.feed import Feed, Message, Missed, Subscription
from routebook.sse import MEDIA_TYPE, Dropped, Missing, Reset, Stopping, alive, of_notice, opening

HEARTBEAT_S: Final = 15.0
Seq = Annotated[int | None, QueryParameter(ge=0, le=2**63 - 1, description="a sequence number")]


@get(
    "/v1/events",
    summary="Live events",
    media_type=MEDIA_TYPE,
    responses={
        200: response_spec(str, "A stream of server-sent events", media_type=MEDIA_TYPE),
        **error_specs(503),
    },
)
async def events(
    request: Request[Any, Any, Any],
    parts: PartsDep,
    topic: Names = None,
    broker: Names = None,
    kind: Names = None,
    last_event_id: Annotated[
        str | None,
        QueryParameter(description="resume after this sequence number; the header Last-Event-ID takes precedence"),
    ] = None,
) -> Stream:
    """Server-sent events: each journal record with its sequence number as `id`; see docs/http.md for the format."""
    wanted = parse_selection(kinds=kind, brokers=broker, topics=topic)
    after = _parse_id(request.headers.get("last-event-id") or last_event_id)
    limit = parts.context.nameserver.settings.http_watchers
    if parts.context.watchers >= limit:
        raise ApiError(503, f"{limit} watchers are connected", "retry later, or raise routebook.http.watchers")
    stream = EventStream(parts.context.feed, parts.journal, wanted)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return Stream(_counted(parts.context, stream.chunks(after)), media_type=MEDIA_TYPE, headers=headers)


async def _counted(context: HttpContext, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    context.watchers += 1
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    finally:
        context.watchers -= 1


class EventStream:
    """The stream of one watcher. Each generator closes the ones it reads from, so a disconnect ends all of them."""

    def __init__(self, feed: Feed, journal: JournalWindow | None, wanted: Selection) -> None:
        self._feed = feed
        self._journal = journal
        self._wanted = wanted
        self._done = 0

    async def chunks(self, after: int | None) -> AsyncGenerator[bytes, None]:
        """Events after a sequence number, or new events if it is None. Ends when the client has to reconnect."""
        self._done = after or 0
        try:
            async with aclosing(self._everything(after)) as everything:
                async for chunk in everything:
                    yield chunk
        except OSError as problem:
            why = f"cannot read the journal: {problem.strerror or problem}"
            yield of_notice(Dropped(resume_after=self._done, why=why), after=self._done)

    async def _everything(self, after: int | None) -> AsyncGenerator[bytes, None]:
        resumes = after is not None
        if resumes:
            yield opening()
        if after is not None and self._journal is not None:
            last_seq = self._journal.last_seq
            if after > last_seq:
                yield of_notice(Reset(last_event_id=after, last_seq=last_seq), after=0)
                after = None
            else:
                async with aclosing(self._journal.after(after)) as batches:
                    async for batch in batches:
                        yield self._joined(batch)
                        after = batch[-1].seq
        with self._feed.subscribe(self._wanted) as subscription:
            if not resumes:  # a client that has read the opening misses no event from there on
                yield opening()
            if after is not None:
                async with aclosing(self._gap(after, subscription.resume_after)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            async with aclosing(self._live(subscription)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _gap(self, after: int, upto: int) -> AsyncGenerator[bytes, None]:
        """Records from the journal that the subscription does not contain."""
        if self._journal is None:
            if after < upto:
                yield of_notice(Missing(first=after + 1, last=upto, why="the journal is off"), after=upto)
            return
        async with aclosing(self._journal.between(after, upto)) as batches:
            async for batch in batches:
                yield self._joined(batch)

    async def _live(self, subscription: Subscription) -> AsyncGenerator[bytes, None]:
        while True:
            taken = subscription.take()
            if subscription.dropped:
                yield of_notice(Dropped(resume_after=subscription.resume_after), after=subscription.resume_after)
                return
            if not taken:
                if self._feed.closed:
                    yield of_notice(Stopping(resume_after=subscription.resume_after), after=subscription.resume_after)
                    return
                if not await subscription.wait(HEARTBEAT_S):
                    yield alive(after=subscription.resume_after)
                continue
            async with aclosing(self._taken(taken)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _taken(self, taken: list[Message | Missed]) -> AsyncGenerator[bytes, None]:
        if not any(isinstance(message, Missed) for message in taken):
            yield b"".join(message.data for message in taken)
            return
        for message in taken:
            if isinstance(message, Missed):
                async with aclosing(self._gap(message.first - 1, message.last)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            else:
                yield message.data

    def _joined(self, batch: list[Entry]) -> bytes:
        """The selected records of a batch, or a keep-alive that advances the id."""
        chunks = []
        for entry in batch:
            if entry.missing is not None:
                chunks.append(of_notice(entry.missing, after=entry.seq))
            elif entry.record is not None and self._wanted.fits(entry.record):
                chunks.append(entry.data)
        self._done = batch[-1].seq
        return b"".join(chunks) or alive(after=self._done)


def _parse_id(text: str | None) -> int | None:
    if text is None or not text.strip():
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ApiError(400, f"Last-Event-ID {text[:100]} is not a number", "send the id of the last event received")
    return int(text)


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
    parts: PartsDep,
    before: Seq = None,
    after: Seq = None,
    at: Annotated[str | None, QueryParameter(description="at this time or earlier: ms or ISO 8601")] = None,
    limit: SmallLimit = 100,
    kind: Names = None,
    broker: Names = None,
    topic: Names = None,
) -> RecordsAnswer:
    """Shortened records; without `kind`, per-minute counts are omitted."""
    files, writer = parts.context.journal_files, parts.context.journal
    if files is None or writer is None:
        raise ApiError(503, "the journal is off", "set routebook.journal.enabled=true")
    wanted = parse_selection(kinds=kind, brokers=broker, topics=topic)
    page = Page(
        limit=limit,
        before=before,
        after=after or 0,
        at_ms=None if at is None else parse_time(at, parts.context.wall_ms()),
        excluded_kinds=MINUTE_KINDS - wanted.kinds,
    )
    try:
        found = await parts.threads.run(lambda: find_newest(files, page, wanted))
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
