"""Applies the outcome of a request: records its events and performs its effects."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from routebook.codes import ADMIN_WRITES, ResponseCode
from routebook.effects import AskProduct, CloseConnection, NotifyMinBroker, SaveKv, SaveSettings
from routebook.events import DownReason, RequestDenied
from routebook.handlers import Caller, Outcome
from routebook.server.access.denials import Denials
from routebook.server.net.outbound.cluster_test import ClusterTest
from routebook.server.net.outbound.min_broker_notices import MinBrokerNotices
from routebook.server.state.config_saver import ConfigSaver
from routebook.server.state.recorder import Recorder
from routebook.wire.command import Reply

Answer: TypeAlias = Callable[[Reply], None]


class Deferred(NamedTuple):
    """The number of deferred answers, and the age of the oldest in milliseconds."""

    asking: int
    asking_ms: int
    saving: int
    saving_ms: int


class Applied(NamedTuple):
    """`seq` is the sequence number of the last record (0: none). `is_deferred`: `answer` is called later."""

    seq: int
    is_deferred: bool


def _ignore(_reply: Reply) -> None:
    """For outcomes that no request waits for."""


class EffectRunner:
    """`apply` is the only way from an outcome to journal, files and other servers."""

    def __init__(
        self,
        *,
        recorder: Recorder,
        denials: Denials,
        saver: ConfigSaver,
        notices: MinBrokerNotices,
        cluster_test: ClusterTest,
        close: Callable[[int, DownReason], None],
        on_save_failed: Callable[[str], None],
        time: Callable[[], float],
        wall_ms: Callable[[], int],
    ) -> None:
        self._recorder = recorder
        self._denials = denials
        self._saver = saver
        self._notices = notices
        self._cluster_test = cluster_test
        self._close = close
        self._on_save_failed = on_save_failed
        self._time = time
        self._wall_ms = wall_ms
        # deferred answers and since when they wait: for the disk, and for another NameServer
        self._saving: dict[object, float] = {}
        self._asking: dict[object, float] = {}

    def deferred(self, now: float) -> Deferred:
        """Return what is outstanding, for Java's watermark log."""
        return Deferred(
            asking=len(self._asking),
            asking_ms=_oldest_ms(self._asking, now),
            saving=len(self._saving),
            saving_ms=_oldest_ms(self._saving, now),
        )

    def apply(
        self, outcome: Outcome, *, caller: Caller | None = None, code: int | None = None, answer: Answer = _ignore
    ) -> Applied:
        """Record the events and perform the effects of an outcome.

        `caller` and `code` are those of the request. `answer` is called with the reply if the answer is deferred: an
        administrator's write is acknowledged when its record is on disk.
        """
        seq = self._record(outcome, caller, code) if outcome.events else 0
        durable = seq if code in ADMIN_WRITES and self._recorder.journal is not None else 0
        is_deferred = False
        for effect in outcome.effects:
            match effect:
                case NotifyMinBroker():
                    self._notices.send(effect)
                case CloseConnection():
                    self._close(effect.connection, effect.reason)
                case SaveKv() | SaveSettings():
                    self._wait_for_disk(effect, durable, outcome.reply, answer)
                    is_deferred = True
                case AskProduct():
                    self._ask(effect, answer)
                    is_deferred = True
        if durable and not is_deferred:
            self._wait_for_disk(None, durable, outcome.reply, answer)
            is_deferred = True
        return Applied(seq, is_deferred)

    def _record(self, outcome: Outcome, caller: Caller | None, code: int | None) -> int:
        peer, who = (None, None) if caller is None else (caller.address, caller.who)
        for event in outcome.events:
            if isinstance(event, RequestDenied):  # of these, one per minute is recorded
                self._denials.denied(code=code or 0, why=event.why, peer=peer or "", who=who)
        events = [event for event in outcome.events if not isinstance(event, RequestDenied)]
        return self._recorder.record(events, at_ms=self._wall_ms(), peer=peer, code=code, who=who)

    def _wait_for_disk(
        self, effect: SaveKv | SaveSettings | None, durable: int, reply: Reply | None, answer: Answer
    ) -> None:
        """Call `answer` when the file is saved and record `durable` is on disk."""
        token = object()
        self._saving[token] = self._time()
        left = (effect is not None) + (durable > 0)
        problem: str | None = None
        unkept: str | None = None

        def one_done() -> None:
            nonlocal left
            left -= 1
            if left:
                return
            del self._saving[token]
            if problem is not None:
                self._on_save_failed(problem)
                remark = f"the change is in effect, but will be lost at the next restart: {problem}"
                answer(Reply(code=ResponseCode.SYSTEM_ERROR, remark=remark))
            elif unkept is not None:
                remark = f"the change is in effect, but its record is not on disk and may be lost: {unkept}"
                answer(replace(reply if reply is not None else Reply(), remark=remark))
            else:
                answer(reply if reply is not None else Reply())

        def saved(error: str | None) -> None:
            nonlocal problem
            problem = error
            one_done()

        def recorded(is_kept: bool) -> None:
            nonlocal unkept
            unkept = None if is_kept else self._recorder.problem
            one_done()

        if effect is not None:
            self._saver.save(effect, saved)
        if durable:
            # A full disk stops the journal, not the NameServer: the request is answered, and health is degraded.
            self._recorder.when_durable(durable, recorded)

    def _ask(self, effect: AskProduct, answer: Answer) -> None:
        token = object()
        self._asking[token] = self._time()

        def answered(reply: Reply) -> None:
            del self._asking[token]
            answer(reply)

        self._cluster_test.ask(effect.topic, answered)


def _oldest_ms(since: dict[object, float], now: float) -> int:
    return int((now - next(iter(since.values()))) * 1000) if since else 0
