"""Does what the core decided: saves, tells brokers, asks other NameServers, closes connections."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from routebook.codes import ResponseCode
from routebook.effects import AskProduct, CloseConnection, NotifyMinBroker, SaveKv, SaveSettings
from routebook.events import DownReason
from routebook.handlers import Outcome
from routebook.server.net.cluster_test import Product
from routebook.server.net.min_broker_notices import Notices
from routebook.server.state.config_saver import ConfigSaver
from routebook.server.state.recorder import Recorder
from routebook.wire.command import Reply

Answer: TypeAlias = Callable[[Reply], None]


class Waiting(NamedTuple):
    """Answers that wait, and for how many milliseconds the first of them has."""

    asking: int
    asking_ms: int
    saving: int
    saving_ms: int


def _nobody(_reply: Reply) -> None:
    """Answers what nobody asked."""


class Performer:
    """`perform` is the only way from an outcome to the world."""

    def __init__(
        self,
        *,
        saver: ConfigSaver,
        recorder: Recorder,
        notices: Notices,
        product: Product,
        close: Callable[[int, DownReason], None],
        unsaved: Callable[[str], None],
        time: Callable[[], float],
    ) -> None:
        self._saver = saver
        self._recorder = recorder
        self._notices = notices
        self._product = product
        self._close = close
        self._unsaved = unsaved
        self._time = time
        self._saving: dict[object, float] = {}  # answers that wait for the disk, and since when
        self._asking: dict[object, float] = {}  # answers that wait for another NameServer

    def waiting(self, now: float) -> Waiting:
        """How much is under way, for the water marks."""
        return Waiting(
            asking=len(self._asking),
            asking_ms=_oldest_ms(self._asking, now),
            saving=len(self._saving),
            saving_ms=_oldest_ms(self._saving, now),
        )

    def perform(self, outcome: Outcome, answer: Answer = _nobody, *, durable: int = 0) -> bool:
        """Do it all. True: `answer` will be called later, with the reply to give; false: answer now.

        `durable` is the number of a record that is to be on disk first.
        """
        later = False
        for effect in outcome.effects:
            match effect:
                case NotifyMinBroker():
                    self._notices.send(effect)
                case CloseConnection():
                    self._close(effect.connection, effect.reason)
                case SaveKv() | SaveSettings():
                    self._wait_for_disk(effect, durable, outcome.reply, answer)
                    later = True
                case AskProduct():
                    self._ask(effect, answer)
                    later = True
        if durable and not later:
            self._wait_for_disk(None, durable, outcome.reply, answer)
            later = True
        return later

    def _wait_for_disk(
        self, effect: SaveKv | SaveSettings | None, durable: int, reply: Reply | None, answer: Answer
    ) -> None:
        token = object()
        self._saving[token] = self._time()
        left = (effect is not None) + (durable > 0)
        wrong: str | None = None

        def one_done() -> None:
            nonlocal left
            left -= 1
            if left:
                return
            del self._saving[token]
            if wrong is not None:
                self._unsaved(wrong)
                remark = f"the change is in effect, but will be lost at the next restart: {wrong}"
                answer(Reply(code=ResponseCode.SYSTEM_ERROR, remark=remark))
            else:
                answer(reply if reply is not None else Reply())

        def saved(problem: str | None) -> None:
            nonlocal wrong
            wrong = problem
            one_done()

        if effect is not None:
            self._saver.save(effect, saved)
        if durable:
            # Whether the journal took it or not: a full disk stops the journal, not the NameServer. Health tells.
            self._recorder.when_durable(durable, lambda _kept: one_done())

    def _ask(self, effect: AskProduct, answer: Answer) -> None:
        token = object()
        self._asking[token] = self._time()

        def answered(reply: Reply) -> None:
            del self._asking[token]
            answer(reply)

        self._product.ask(effect.topic, answered)


def _oldest_ms(since: dict[object, float], now: float) -> int:
    return int((now - next(iter(since.values()))) * 1000) if since else 0
