"""Answers the requests of the NameServer port: dispatches them and applies their outcomes."""

from collections.abc import Callable, Container
from functools import partial
from time import perf_counter_ns
from typing import Final

from routebook.access.classes import BROKER_TRAFFIC
from routebook.codes import FLAG_ONEWAY, RequestCode
from routebook.events import DownReason
from routebook.handlers import Caller, NameServer, Outcome, dispatch, register_in_steps
from routebook.handlers.registration import REGISTRATION_FAILED
from routebook.server.net.effects import EffectRunner
from routebook.server.net.service import AnswerLater, internal_error
from routebook.server.net.turns import Turns
from routebook.server.observe.event_log import EventLog
from routebook.steps import Steps
from routebook.wire.command import Command, Reply

_NOT_COMPLETE: Final = "the first registration of a broker must contain all of its topics, and this one contains one"
_REGISTER: Final = int(RequestCode.REGISTER_BROKER)
_LONG_BYTES: Final = 16 << 10  # a registration with a longer body is decoded in steps


class _RegistrationJob:
    """A registration that is decoded in steps. The tables change in its last step, unless it was cancelled."""

    __slots__ = ("_finish", "_now_ms", "_steps", "size")

    def __init__(
        self,
        steps: Steps[Outcome],
        now_ms: Callable[[], int],
        finish: Callable[[Outcome | Exception], None],
        *,
        size: int,
    ) -> None:
        self._steps: Steps[Outcome] | None = steps
        self._now_ms = now_ms
        self._finish = finish
        self.size = size

    def run(self, deadline_ns: int) -> bool:
        if self._steps is None:
            return True
        outcome: Outcome | Exception
        try:
            while True:
                self._steps.send(self._now_ms())
                if perf_counter_ns() >= deadline_ns:
                    return False
        except StopIteration as done:
            outcome = done.value
        except Exception as error:  # noqa: BLE001  around one request: it gets an answer
            outcome = error
        self._steps = None
        self._finish(outcome)
        return True

    def cancel(self) -> None:
        """Drop it: its connection is lost."""
        self._steps = None


class NameServerService:
    """The tables of a NameServer behind a port."""

    broker_codes = BROKER_TRAFFIC
    ordered_codes = frozenset({_REGISTER})

    def __init__(
        self,
        nameserver: NameServer,
        effects: EffectRunner,
        now_ms: Callable[[], int],
        *,
        turns: Turns,
        event_log: EventLog | None = None,
    ) -> None:
        self._nameserver = nameserver
        self._dispatch = partial(dispatch, nameserver)
        self._effects = effects
        self._now_ms = now_ms
        self._event_log = event_log
        self._turns = turns
        self._registering: dict[int, _RegistrationJob] = {}  # by connection
        self.exceeded = nameserver.exceeded

    @property
    def broker_connections(self) -> Container[int]:
        return self._nameserver.routes.registered_over

    def answer(self, command: Command, caller: Caller, now_ms: int, answer_later: AnswerLater) -> Reply | None:
        if command.code == _REGISTER and len(command.body or b"") >= _LONG_BYTES:
            return self._register(command, caller, now_ms, answer_later)
        outcome = self._dispatch(command, caller, now_ms)
        if outcome.events or outcome.effects or command.code == _REGISTER:
            return self._apply(outcome, command, caller, answer_later)
        return outcome.reply

    def _apply(self, outcome: Outcome, command: Command, caller: Caller, answer_later: AnswerLater) -> Reply | None:
        if outcome.events or outcome.effects:
            later = partial(answer_later, command.opaque, bool(command.flag & FLAG_ONEWAY))
            if self._effects.apply(outcome, caller=caller, code=command.code, answer=later).is_deferred:
                return None
        reply = outcome.reply
        if reply is not None and reply.code and command.code == _REGISTER:
            self._log_rejection(command, reply, caller)
        return reply

    def _log_rejection(self, command: Command, reply: Reply, caller: Caller) -> None:
        if self._event_log is not None:
            ext = command.ext or {}
            broker, addr = ext.get("brokerName") or "", ext.get("brokerAddr") or ""
            why = _NOT_COMPLETE if reply.remark == REGISTRATION_FAILED else reply.remark or f"code {reply.code}"
            self._event_log.registration_rejected(broker=broker, addr=addr, why=why, peer=caller.address)

    def _register(self, command: Command, caller: Caller, now_ms: int, answer_later: AnswerLater) -> Reply | None:
        """Renew the lease of an unchanged registration now; decode another one in steps."""
        steps = register_in_steps(self._nameserver, command, caller, now_ms)
        try:
            next(steps)
        except StopIteration as done:
            return self._apply(done.value, command, caller, answer_later)

        def finish(outcome: Outcome | Exception) -> None:
            del self._registering[caller.connection]
            if isinstance(outcome, Exception):
                if self._event_log is not None:
                    self._event_log.request_failed(command.code, caller.address, outcome)
                reply: Reply | None = internal_error(command.code, outcome)
            else:
                reply = self._apply(outcome, command, caller, answer_later)
            if reply is not None:
                answer_later(command.opaque, bool(command.flag & FLAG_ONEWAY), reply)

        job = _RegistrationJob(steps, self._now_ms, finish, size=len(command.body or b""))
        self._registering[caller.connection] = job
        self._turns.add_job(caller.host, job)
        return None

    def connection_lost(self, caller: Caller, reason: DownReason) -> None:
        """Remove the brokers that were registered over the connection, and drop a registration in progress."""
        job = self._registering.pop(caller.connection, None)
        if job is not None:
            job.cancel()
        outcome = self._nameserver.connection_lost(caller.connection, reason, self._now_ms())
        self._effects.apply(outcome, caller=caller)
