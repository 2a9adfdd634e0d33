"""Answers the requests of the NameServer port: dispatches them and applies their outcomes."""

from collections.abc import Callable, Container
from functools import partial

from routebook.access.classes import BROKER_TRAFFIC
from routebook.codes import FLAG_ONEWAY
from routebook.events import DownReason
from routebook.handlers import Caller, NameServer, dispatch
from routebook.server.net.effects import EffectRunner
from routebook.server.net.service import AnswerLater
from routebook.wire.command import Command, Reply


class NameServerService:
    """The tables of a NameServer behind a port."""

    broker_codes = BROKER_TRAFFIC

    def __init__(self, nameserver: NameServer, effects: EffectRunner, now_ms: Callable[[], int]) -> None:
        self._nameserver = nameserver
        self._dispatch = partial(dispatch, nameserver)
        self._effects = effects
        self._now_ms = now_ms
        self.exceeded = nameserver.exceeded

    @property
    def broker_connections(self) -> Container[int]:
        return self._nameserver.routes.registered_over

    def answer(self, command: Command, caller: Caller, now_ms: int, answer_later: AnswerLater) -> Reply | None:
        outcome = self._dispatch(command, caller, now_ms)
        if outcome.events or outcome.effects:
            later = partial(answer_later, command.opaque, bool(command.flag & FLAG_ONEWAY))
            if self._effects.apply(outcome, caller=caller, code=command.code, answer=later).is_deferred:
                return None
        return outcome.reply

    def connection_lost(self, caller: Caller, reason: DownReason) -> None:
        """Remove the brokers that were registered over the connection."""
        outcome = self._nameserver.connection_lost(caller.connection, reason, self._now_ms())
        self._effects.apply(outcome, caller=caller)
