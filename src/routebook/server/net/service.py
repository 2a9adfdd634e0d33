"""What a listening port serves: the requests of the NameServer or those of the Controller."""

from collections.abc import Callable, Container
from typing import Protocol, TypeAlias

from routebook.codes import ResponseCode
from routebook.events import DownReason
from routebook.handlers import Caller
from routebook.wire.command import Command, Reply

AnswerLater: TypeAlias = Callable[[int, bool, Reply], None]
"""Called with the opaque of a request, whether it is one-way, and its answer."""


def internal_error(code: int, error: Exception) -> Reply:
    """The answer to a request that failed unexpectedly."""
    return Reply(
        code=ResponseCode.SYSTEM_ERROR,
        remark=f"internal error in request {code}: {type(error).__name__}; see the log of the server",
    )


class Service(Protocol):
    """Answers the requests of one port."""

    @property
    def exceeded(self) -> dict[str, int]:
        """Rejected requests by limit."""

    @property
    def broker_codes(self) -> frozenset[int]:
        """Requests of brokers, which are served even under overload."""

    @property
    def broker_connections(self) -> Container[int]:
        """Connections of brokers, which are the last to be closed."""

    @property
    def ordered_codes(self) -> frozenset[int]:
        """Requests whose deferred answer delays the following requests of the connection."""

    def answer(self, command: Command, caller: Caller, now_ms: int, answer_later: AnswerLater, /) -> Reply | None:
        """Answer a request; None: `answer_later` is called with the answer."""

    def connection_lost(self, caller: Caller, reason: DownReason, /) -> None:
        """A connection was closed."""
