"""Who listens now: each record is encoded once, and waits within bounds for everybody who wants it.

    publish ──► one channel per selection ──► its readers, each at a place of its own
                messages, bounded             slow: passed by, told where to resume

A channel holds a message once, however many read it, and lets go of it when all have. Readers are woken a few at a
time, so that requests get their turn between. All of it belongs to the event loop's thread.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Final, NamedTuple, Self

from routebook.journal.read.select import Selection, brokers_of, topics_of
from routebook.journal.record import Record
from routebook.sse import of_record

EVERYTHING: Final = Selection()
_LIMIT: Final = 1024  # messages that a reader may be behind
_CHANNEL_BYTES: Final = 4 << 20
_ALL_BYTES: Final = 64 << 20
_WOKEN_AT_A_TIME: Final = 64


class Message(NamedTuple):
    """A record as readers get it. `seq` 0: it has no number."""

    seq: int
    data: bytes


class Missed(NamedTuple):
    """Numbers that were given to records nobody published: the journal has them, if anything has."""

    first: int
    last: int
    data: bytes = b""

    @property
    def seq(self) -> int:
        return self.last


class Feed:
    """`publish` never waits. `subscribe` gives a bounded subscription, `close` ends them all."""

    def __init__(self, *, last_seq: int | None = None, encode: Callable[[Record], bytes] = of_record) -> None:
        """`last_seq` is the last number that the journal handed out before the first record is published."""
        self.last_seq = last_seq
        self.published = 0
        self.dropped = 0  # readers that were too slow
        self.closed = False
        self._encode = encode
        self._taps: list[deque[Record]] = []
        self._channels: dict[tuple[Selection, int], _Channel] = {}
        self._to_wake: dict[_Channel, None] = {}
        self._bytes = 0

    @property
    def readers(self) -> int:
        """How many listen."""
        return sum(len(channel.readers) for channel in self._channels.values())

    def publish(self, record: Record) -> None:
        """Hand a record to whoever wants it. Numbers that were passed over since the last one are told of as missed."""
        seq, missed = record.seq, None
        self.published += 1
        if seq:
            if self.last_seq is not None and seq > self.last_seq + 1:
                missed = Missed(self.last_seq + 1, seq - 1)
            self.last_seq = seq
        for tap in self._taps:
            tap.append(record)
        if not self._channels:
            return
        message, fits = None, _matcher(record)
        for channel in self._channels.values():
            if missed is not None:
                self._add(channel, missed)
            if fits(channel.wanted):
                if message is None:
                    message = Message(seq, self._encode(record))
                self._add(channel, message)

    def subscribe(self, wanted: Selection = EVERYTHING, *, limit: int = _LIMIT) -> "Subscription":
        """Everything wanted that is published from now on; `limit` messages may wait. To be closed by the caller."""
        channel = self._channels.get((wanted, limit))
        if channel is None:
            channel = self._channels[wanted, limit] = _Channel(wanted, limit)
        return Subscription(self, channel)

    def tap(self, *, limit: int) -> deque[Record]:
        """The newest records as they are published, not encoded, for whoever empties it now and then."""
        tap: deque[Record] = deque(maxlen=limit)
        self._taps.append(tap)
        return tap

    def close(self) -> None:
        """Wake everybody; there is nothing more to come."""
        self.closed = True
        for channel in self._channels.values():
            self._wake_soon(channel)

    def _add(self, channel: "_Channel", message: Message | Missed) -> None:
        size = channel.bytes
        channel.add(message)
        self._bytes += channel.bytes - size
        while len(channel.messages) > 1 and channel.is_over(_CHANNEL_BYTES):
            self._bytes -= channel.drop_oldest()
        while self._bytes > _ALL_BYTES and channel.messages:
            self._bytes -= channel.drop_oldest()
        if channel.waiting:
            self._wake_soon(channel)

    def _read(self, channel: "_Channel", freed: int) -> None:
        self._bytes -= freed
        if not channel.readers:
            self._channels.pop((channel.wanted, channel.limit), None)

    def _wake_soon(self, channel: "_Channel") -> None:
        if not self._to_wake:
            asyncio.get_running_loop().call_soon(self._wake_some)
        self._to_wake[channel] = None

    def _wake_some(self) -> None:
        left = _WOKEN_AT_A_TIME
        for channel in list(self._to_wake):
            left -= channel.wake(left)
            if channel.waiting:
                break
            del self._to_wake[channel]
        if self._to_wake:
            asyncio.get_running_loop().call_soon(self._wake_some)


def _matcher(record: Record) -> Callable[[Selection], bool]:
    """What `Selection.fits` says, for many selections: what the record is about is worked out once, if at all."""
    kind, event = record.kind, record.event
    brokers: frozenset[str] | None = None
    topics: frozenset[str] | None = None

    def fits(wanted: Selection) -> bool:
        nonlocal brokers, topics
        if wanted.kinds and kind not in wanted.kinds:
            return False
        if wanted.brokers:
            brokers = frozenset(brokers_of(event)) if brokers is None else brokers
            if wanted.brokers.isdisjoint(brokers):
                return False
        if wanted.topics:
            topics = frozenset(topics_of(event)) if topics is None else topics
            return not wanted.topics.isdisjoint(topics)
        return True

    return fits


class Subscription:
    """One reader. Once `dropped` is true it gets nothing more; `resume_after` is the last number it is done with."""

    __slots__ = ("_channel", "_feed", "_position", "_resume_after", "dropped")

    def __init__(self, feed: Feed, channel: "_Channel") -> None:
        self._feed = feed
        self._channel = channel
        self._position = channel.end
        self._resume_after = feed.last_seq or 0
        self.dropped = False
        channel.readers.add(self)
        channel.caught_up += 1

    @property
    def resume_after(self) -> int:
        if self.dropped or self._position < self._channel.end:
            return self._resume_after
        return max(self._resume_after, self._feed.last_seq or 0)  # what it does not want it is done with, too

    def take(self, *, max_bytes: int = 1 << 16) -> list[Message | Missed]:
        """What has come: at least one message if there is any, and about so many bytes."""
        channel = self._channel
        if self.dropped or self._position == channel.end:
            return []
        if self._position < channel.first:
            self.dropped = True
            self._feed.dropped += 1
            return []
        taken: list[Message | Missed] = []
        size = 0
        for message in channel.messages[self._position - channel.first :]:
            if taken and size + len(message.data) > max_bytes:
                break
            taken.append(message)
            size += len(message.data)
        self._position += len(taken)
        self._resume_after = taken[-1].seq or self._resume_after
        if self._position == channel.end:
            channel.caught_up += 1
            self._feed._read(channel, channel.forget_if_read())
        return taken

    async def wait(self, timeout_s: float) -> bool:
        """Until there is something to take, or the feed is closed; False: it took too long."""
        channel = self._channel
        if self._position < channel.end or self._feed.closed:
            return True
        woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        channel.waiting[woken] = None
        try:
            async with asyncio.timeout(timeout_s):
                await woken
        except TimeoutError:
            return False
        finally:
            channel.waiting.pop(woken, None)
        return True

    def close(self) -> None:
        channel = self._channel
        if self not in channel.readers:
            return
        channel.readers.discard(self)
        if self._position == channel.end:
            channel.caught_up -= 1
        self._feed._read(channel, channel.forget_if_read())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Channel:
    """What readers with the same wishes have not all read yet. `first` counts the messages that went before."""

    __slots__ = ("bytes", "caught_up", "first", "limit", "messages", "readers", "waiting", "wanted")

    def __init__(self, wanted: Selection, limit: int) -> None:
        self.wanted = wanted
        self.limit = limit
        self.messages: list[Message | Missed] = []
        self.first = 0
        self.bytes = 0
        self.readers: set[Subscription] = set()
        self.caught_up = 0  # readers that have read all
        self.waiting: dict[asyncio.Future[None], None] = {}

    @property
    def end(self) -> int:
        return self.first + len(self.messages)

    def add(self, message: Message | Missed) -> None:
        self.messages.append(message)
        self.bytes += len(message.data)
        self.caught_up = 0

    def is_over(self, most_bytes: int) -> bool:
        return len(self.messages) > self.limit or self.bytes > most_bytes

    def drop_oldest(self) -> int:
        size = len(self.messages.pop(0).data)
        self.first += 1
        self.bytes -= size
        return size

    def forget_if_read(self) -> int:
        """Let go of the messages once no reader needs them; how many bytes that were."""
        if self.caught_up < len(self.readers):
            return 0
        freed, self.bytes = self.bytes, 0
        self.first = self.end
        self.messages = []
        return freed

    def wake(self, most: int) -> int:
        """Wake some of those that wait; how many."""
        woken = 0
        for future in list(self.waiting)[:most]:
            del self.waiting[future]
            if not future.done():
                future.set_result(None)
                woken += 1
        return woken
