"""`/v1/events`: what happens, as it happens, and on return everything since; no gap, no duplicate.

Last-Event-ID ─► journal, up to what is on disk        nothing is held for the reader meanwhile
                 subscribe to the feed at number n
                 journal, up to n                      waits for the disk; the feed's bounded queue holds the rest
                 feed, from n + 1 on
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from difflib import get_close_matches
from typing import Annotated, Any, Final

from litestar import Request, get
from litestar.params import QueryParameter
from litestar.response import Stream

from routebook.journal.read.select import Selection
from routebook.journal.record import KINDS
from routebook.server.http.api.dependencies import Context, Journal
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Refusal, answer, documented
from routebook.server.http.live.journal_window import Entry, JournalPast
from routebook.server.state.feed import Feed, Message, Missed, Subscription
from routebook.sse import MEDIA_TYPE, Dropped, Missing, Reset, Stopping, alive, of_notice, opening

HEARTBEAT_S: Final = 15.0

Names = Annotated[list[str] | None, QueryParameter(description="repeatable; one of them must fit")]


@get(
    "/v1/events",
    summary="What happens, as it happens",
    media_type=MEDIA_TYPE,
    responses={
        200: answer(str, "A stream of server-sent events", media_type=MEDIA_TYPE),
        **documented(503),
    },
)
async def events(
    request: Request[Any, Any, Any],
    context: Context,
    journal: Journal,
    topic: Names = None,
    broker: Names = None,
    kind: Names = None,
    last_event_id: Annotated[
        str | None, QueryParameter(description="go on after this number; or the header Last-Event-ID, which wins")
    ] = None,
) -> Stream:
    """Server-sent events: each record of the journal with its number as `id`; docs/http.md has the form."""
    wanted = Selection(kinds=kinds_of(kind), brokers=frozenset(broker or ()), topics=frozenset(topic or ()))
    after = _number(request.headers.get("last-event-id") or last_event_id)
    most = context.nameserver.settings.http_watchers
    if context.watchers >= most:
        raise Refusal(503, f"{most} watch already", "come back later, or raise routebook.http.watchers")
    stream = EventStream(context.feed, journal, wanted)
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return Stream(_counted(context, stream.chunks(after)), media_type=MEDIA_TYPE, headers=headers)


async def _counted(context: HttpContext, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    context.watchers += 1
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk
    finally:
        context.watchers -= 1


class EventStream:
    """What one watcher gets. Each generator closes those it draws from, so that nobody is waited for who has left."""

    def __init__(self, feed: Feed, journal: JournalPast | None, wanted: Selection) -> None:
        self._feed = feed
        self._journal = journal
        self._wanted = wanted
        self._done = 0

    async def chunks(self, after: int | None) -> AsyncGenerator[bytes, None]:
        """Everything after a number, None: from now on. Ends where the reader has to come back."""
        self._done = after or 0
        try:
            async with aclosing(self._everything(after)) as everything:
                async for chunk in everything:
                    yield chunk
        except OSError as problem:
            why = f"the journal cannot be read: {problem.strerror or problem}"
            yield of_notice(Dropped(resume_after=self._done, why=why), after=self._done)

    async def _everything(self, after: int | None) -> AsyncGenerator[bytes, None]:
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
            if after is not None:
                async with aclosing(self._gap(after, subscription.resume_after)) as chunks:
                    async for chunk in chunks:
                        yield chunk
            async with aclosing(self._live(subscription)) as chunks:
                async for chunk in chunks:
                    yield chunk

    async def _gap(self, after: int, upto: int) -> AsyncGenerator[bytes, None]:
        """Numbers that were handed out before the subscription began, or past it."""
        if self._journal is None:
            if after < upto:
                missing = Missing(first=after + 1, last=upto, why="there is no journal")
                yield of_notice(missing, after=upto)
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
        """Those that are wanted; if none is, a sign of life that moves the number on."""
        chunks = []
        for entry in batch:
            if entry.missing is not None:
                chunks.append(of_notice(entry.missing, after=entry.seq))
            elif entry.record is not None and self._wanted.fits(entry.record):
                chunks.append(entry.data)
        self._done = batch[-1].seq
        return b"".join(chunks) or alive(after=self._done)


def kinds_of(given: list[str] | None) -> frozenset[str]:
    """Kinds of events by their names. Raises Refusal for one that is none."""
    for kind in given or ():
        if kind not in KINDS:
            near = get_close_matches(kind[:100], KINDS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(KINDS))}"
            raise Refusal(400, f"kind={kind[:100]}: there is no such kind", hint)
    return frozenset(given or ())


def _number(text: str | None) -> int | None:
    if text is None or not text.strip():
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise Refusal(
            400, f"Last-Event-ID {text[:100]} is not a number", "send back the id of the last event as it came"
        )
    return int(text)
