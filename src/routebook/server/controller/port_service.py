"""Answers the requests of the Controller port."""

import asyncio
from collections.abc import Awaitable, Callable, Container

from routebook.codes import FLAG_ONEWAY, ResponseCode
from routebook.controller.access import BROKER_TRAFFIC
from routebook.events import DownReason
from routebook.handlers import Caller
from routebook.server.controller.service import ControllerService
from routebook.server.net.service import AnswerLater
from routebook.wire.command import Command, Reply


class ControllerPortService:
    """A Controller behind a port."""

    broker_codes = BROKER_TRAFFIC

    def __init__(
        self,
        controller: ControllerService,
        *,
        exceeded: dict[str, int],
        on_failure: Callable[[int, str, Exception], None],
    ) -> None:
        """`on_failure` receives a request code, the peer and the error."""
        self._controller = controller
        self._on_failure = on_failure
        self._tasks: set[asyncio.Task[None]] = set()
        self.exceeded = exceeded

    @property
    def broker_connections(self) -> Container[int]:
        return self._controller.machine.live.connections

    def answer(self, command: Command, caller: Caller, _now_ms: int, answer_later: AnswerLater) -> Reply | None:
        answer = self._controller.answer(command, caller.connection)
        if isinstance(answer, Reply):
            return answer
        task = asyncio.create_task(self._answer_later(command, caller, answer, answer_later))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return None

    def connection_lost(self, caller: Caller, _reason: DownReason) -> None:
        self._controller.connection_lost(caller.connection)

    async def _answer_later(
        self, command: Command, caller: Caller, answer: Awaitable[Reply], answer_later: AnswerLater
    ) -> None:
        try:
            reply = await answer
        except Exception as error:  # noqa: BLE001  around one request: the connection stays open
            self._on_failure(command.code, caller.address, error)
            remark = f"internal error in request {command.code}: {type(error).__name__}; see the log of the server"
            reply = Reply(code=ResponseCode.SYSTEM_ERROR, remark=remark)
        answer_later(command.opaque, bool(command.flag & FLAG_ONEWAY), reply)
