"""Does what the core decided: saves, tells brokers, asks other NameServers, closes connections."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from routebook.codes import ResponseCode
from routebook.effects import AskProduct, CloseConnection, NotifyMinBroker, SaveKv, SaveSettings
from routebook.events import DownReason
from routebook.handlers import Outcome
from routebook.server.notices import Notices
from routebook.server.product import Product
from routebook.server.saving import Saver
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
        saver: Saver,
        notices: Notices,
        product: Product,
        close: Callable[[int, DownReason], None],
        unsaved: Callable[[str], None],
        time: Callable[[], float],
    ) -> None:
        self._saver = saver
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

    def perform(self, outcome: Outcome, answer: Answer = _nobody) -> bool:
        """Do it all. True: `answer` will be called later, with the reply to give; false: answer now."""
        later = False
        for effect in outcome.effects:
            match effect:
                case NotifyMinBroker():
                    self._notices.send(effect)
                case CloseConnection():
                    self._close(effect.connection, effect.reason)
                case SaveKv() | SaveSettings():
                    self._save(effect, outcome.reply, answer)
                    later = True
                case AskProduct():
                    self._ask(effect, answer)
                    later = True
        return later

    def _save(self, effect: SaveKv | SaveSettings, reply: Reply | None, answer: Answer) -> None:
        token = object()
        self._saving[token] = self._time()

        def saved(wrong: str | None) -> None:
            del self._saving[token]
            if wrong is not None:
                self._unsaved(wrong)
                remark = f"the change is in effect, but will be lost at the next restart: {wrong}"
                answer(Reply(code=ResponseCode.SYSTEM_ERROR, remark=remark))
            else:
                answer(reply if reply is not None else Reply())

        self._saver.save(effect, saved)

    def _ask(self, effect: AskProduct, answer: Answer) -> None:
        token = object()
        self._asking[token] = self._time()

        def answered(reply: Reply) -> None:
            del self._asking[token]
            answer(reply)

        self._product.ask(effect.topic, answered)


def _oldest_ms(since: dict[object, float], now: float) -> int:
    return int((now - next(iter(since.values()))) * 1000) if since else 0
