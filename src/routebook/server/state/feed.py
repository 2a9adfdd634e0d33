"""Event feed: encodes each record once and queues it, bounded, for every subscriber.

    publish ──► one channel per selection ──► its subscribers, each at its own position
                bounded queue of messages     too slow: dropped, with the position to resume from

A channel stores a message once for all its subscribers and frees it when all have read it. Subscribers are woken in
batches, so that requests are served between two batches. Everything runs on the event loop's thread.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Self

from routebook.journal.read.select import Selection, brokers_of, topics_of
from routebook.journal.record import Record
from routebook.sse import of_record

EVERYTHING: Final = Selection()
_MAX_MESSAGES: Final = 1024  # per channel
_MAX_CHANNEL_BYTES: Final = 4 << 20
_MAX_TOTAL_BYTES: Final = 64 << 20
_WAKE_BATCH: Final = 64


class Message(NamedTuple):
    """An encoded record. `seq` is 0 for a record without a sequence number."""

    seq: int
    data: bytes


class Missed(NamedTuple):
    """A range of sequence numbers that were assigned but not published; the journal may have the records."""

    first: int
    last: int
    data: bytes = b""

    @property
    def seq(self) -> int:
        return self.last


class Feed:
    """`publish` never blocks. `subscribe` returns a bounded subscription, `close` ends all of them."""

    def __init__(self, *, last_seq: int | None = None, encode: Callable[[Record], bytes] = of_record) -> None:
        """`last_seq` is the last sequence number that the journal assigned before the first published record."""
        self.last_seq = last_seq
        self.published = 0
        self.dropped = 0  # subscribers that were too slow
        self.closed = False
        self._encode = encode
        self._taps: list[deque[Record]] = []
        self._channels: dict[tuple[Selection, int], _Channel] = {}
        self._to_wake: dict[_Channel, None] = {}
        self._bytes = 0

    @property
    def readers(self) -> int:
        """The number of subscribers."""
        return sum(len(channel.readers) for channel in self._channels.values())

    def publish(self, record: Record) -> None:
        """Queue a record for matching subscribers; a gap in the sequence numbers is queued first, as `Missed`."""
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
        if self._bytes > _MAX_TOTAL_BYTES:
            self._shrink()

    def subscribe(self, wanted: Selection = EVERYTHING, *, limit: int = _MAX_MESSAGES) -> "Subscription":
        """Subscribe to matching records from now on, with a queue of `limit` messages. The caller closes it."""
        channel = self._channels.get((wanted, limit))
        if channel is None:
            channel = self._channels[wanted, limit] = _Channel(wanted, limit)
        return Subscription(self, channel)

    def tap(self, *, limit: int) -> deque[Record]:
        """A queue of the newest records, not encoded; the caller empties it regularly."""
        tap: deque[Record] = deque(maxlen=limit)
        self._taps.append(tap)
        return tap

    def close(self) -> None:
        """Wake all subscribers and end their subscriptions."""
        self.closed = True
        for channel in self._channels.values():
            self._wake_soon(channel)

    def _add(self, channel: "_Channel", message: Message | Missed) -> None:
        size = channel.bytes
        channel.add(message)
        self._bytes += channel.bytes - size
        while len(channel.messages) > 1 and channel.is_over(_MAX_CHANNEL_BYTES):
            self._bytes -= channel.drop_oldest()
        if channel.waiting:
            self._wake_soon(channel)

    def _shrink(self) -> None:
        """Drop the oldest messages of the largest channels until the total is within its limit."""
        heap = [(-channel.bytes, number, channel) for number, channel in enumerate(self._channels.values())]
        heapq.heapify(heap)
        while self._bytes > _MAX_TOTAL_BYTES:
            _, number, largest = heap[0]
            self._bytes -= largest.drop_oldest()
            heapq.heapreplace(heap, (-largest.bytes, number, largest))

    def _read(self, channel: "_Channel", freed: int) -> None:
        self._bytes -= freed
        if not channel.readers:
            self._channels.pop((channel.wanted, channel.limit), None)

    def _wake_soon(self, channel: "_Channel") -> None:
        if not self._to_wake:
            asyncio.get_running_loop().call_soon(self._wake_some)
        self._to_wake[channel] = None

    def _wake_some(self) -> None:
        left = _WAKE_BATCH
        for channel in list(self._to_wake):
            left -= channel.wake(left)
            if channel.waiting:
                break
            del self._to_wake[channel]
        if self._to_wake:
            asyncio.get_running_loop().call_soon(self._wake_some)


def _matcher(record: Record) -> Callable[[Selection], bool]:
    """`Selection.fits` for many selections: the record's brokers and topics are computed at most once."""
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
    """One subscriber. `resume_after` is the last sequence number it has processed; `dropped` ends it."""

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
        return max(self._resume_after, self._feed.last_seq or 0)  # skipped records count as processed

    def take(self, *, max_bytes: int = 1 << 16) -> list[Message | Missed]:
        """The next messages: at least one if any is queued, then up to `max_bytes`."""
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
            self._feed._read(channel, channel.free_if_read())
        return taken

    async def wait(self, timeout_s: float) -> bool:
        """Wait until a message is queued or the feed is closed; False after `timeout_s`."""
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
        self._feed._read(channel, channel.free_if_read())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Channel:
    """Messages that some subscriber of one selection has not read. `first` is the position of the oldest."""

    __slots__ = ("bytes", "caught_up", "first", "limit", "messages", "readers", "waiting", "wanted")

    def __init__(self, wanted: Selection, limit: int) -> None:
        self.wanted = wanted
        self.limit = limit
        self.messages: list[Message | Missed] = []
        self.first = 0
        self.bytes = 0
        self.readers: set[Subscription] = set()
        self.caught_up = 0  # subscribers that have read everything
        self.waiting: dict[asyncio.Future[None], None] = {}

    @property
    def end(self) -> int:
        return self.first + len(self.messages)

    def add(self, message: Message | Missed) -> None:
        self.messages.append(message)
        self.bytes += len(message.data)
        self.caught_up = 0

    def is_over(self, max_bytes: int) -> bool:
        return len(self.messages) > self.limit or self.bytes > max_bytes

    def drop_oldest(self) -> int:
        size = len(self.messages.pop(0).data)
        self.first += 1
        self.bytes -= size
        return size

    def free_if_read(self) -> int:
        """Free the messages if all subscribers have read them; the number of bytes freed."""
        if self.caught_up < len(self.readers):
            return 0
        freed, self.bytes = self.bytes, 0
        self.first = self.end
        self.messages = []
        return freed

    def wake(self, limit: int) -> int:
        """Wake up to `limit` waiting subscribers; the number woken."""
        woken = 0
        for future in list(self.waiting)[:limit]:
            del self.waiting[future]
            if not future.done():
                future.set_result(None)
                woken += 1
        return woken
