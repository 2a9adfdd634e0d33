"""Answers the requests of the Controller port."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Container
from typing import Final

from routebook.codes import FLAG_ONEWAY, ResponseCode
from routebook.controller.access import BROKER_TRAFFIC
from routebook.controller.codes import ControllerRequest
from routebook.controller.record import Origin
from routebook.errors import BadRequest, TooMuch
from routebook.events import DownReason
from routebook.handlers import Caller
from routebook.handlers.names import optional_name
from routebook.server.controller.service import ControllerService
from routebook.server.net.service import AnswerLater
from routebook.wire.command import Command, Reply

# Fields that are stored: their names are checked as the NameServer checks those of brokers.
_STORED: Final[dict[int, tuple[str, ...]]] = {
    ControllerRequest.BROKER_HEARTBEAT: ("clusterName", "brokerName", "brokerAddr"),
    ControllerRequest.CONTROLLER_REGISTER_BROKER: ("brokerAddress",),
    ControllerRequest.CONTROLLER_APPLY_BROKER_ID: ("clusterName", "brokerName", "registerCheckCode"),
}


class ControllerPortService:
    """A Controller behind a port."""

    broker_codes = BROKER_TRAFFIC
    ordered_codes = frozenset[int]()

    def __init__(
        self,
        controller: ControllerService,
        *,
        max_name_length: int,
        exceeded: dict[str, int],
        on_failure: Callable[[int, str, Exception], None],
    ) -> None:
        """`on_failure` receives a request code, the peer and the error."""
        self._controller = controller
        self._max_name_length = max_name_length
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[None]] = set()
        self.exceeded = exceeded

    @property
    def broker_connections(self) -> Container[int]:
        return self._controller.machine.live.connections

    def answer(self, command: Command, caller: Caller, _now_ms: int, answer_later: AnswerLater) -> Reply | None:
        began_ns = time.perf_counter_ns()
        answer = self._answer(command, caller)
        if isinstance(answer, Reply):
            self._controller.meter.answered(command.code, answer.code, began_ns)
            return answer
        task = asyncio.create_task(self._answer_later(command, caller, answer, answer_later, began_ns))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None

    def _answer(self, command: Command, caller: Caller) -> Reply | Awaitable[Reply]:
        try:
            for field in _STORED.get(command.code, ()):
                optional_name(command, field, max_length=self._max_name_length)
        except TooMuch as refusal:
            self.exceeded[refusal.limit] += 1
            return Reply(code=int(refusal.code), remark=refusal.remark)
        except BadRequest as refusal:
            return Reply(code=int(refusal.code), remark=refusal.remark)
        origin = Origin(caller.address, caller.who, command.code)
        return self._controller.answer(command, caller.connection, origin)

    def connection_lost(self, caller: Caller, _reason: DownReason) -> None:
        self._controller.connection_lost(caller.connection)

    async def _answer_later(
        self, command: Command, caller: Caller, answer: Awaitable[Reply], answer_later: AnswerLater, began_ns: int
    ) -> None:
        try:
            reply = await answer
        except Exception as error:  # noqa: BLE001  around one request: the connection stays open
            self._on_failure(command.code, caller.address, error)
            remark = f"internal error in request {command.code}: {type(error).__name__}; see the log of the server"
            reply = Reply(code=ResponseCode.SYSTEM_ERROR, remark=remark)
        self._controller.meter.answered(command.code, reply.code, began_ns)
        answer_later(command.opaque, bool(command.flag & FLAG_ONEWAY), reply)
