"""What stands between a request and its handler, while anything does: farewell, overload, identities.

A server without authentication that is well has no gate at all, and a request passes as if this file did not exist.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from routebook.access.classes import BROKER_TRAFFIC
from routebook.codes import VERSION_5_3_1, ResponseCode
from routebook.handlers import NameServer
from routebook.server.net.limits import Host
from routebook.wire.command import Command, Reply

if TYPE_CHECKING:
    from routebook.server.access.authorize import Authority, Party

_GO_AWAY: Final = Reply(code=ResponseCode.GO_AWAY, remark="please go away")
# Java: NettyRemotingAbstract says so when its queues are full
_BUSY: Final = Reply(code=ResponseCode.SYSTEM_BUSY, remark="[OVERLOAD]system busy, start flow control for a while")


class Asking(Protocol):
    """A connection, as far as it matters here."""

    @property
    def number(self) -> int: ...

    @property
    def host(self) -> Host: ...


class Gate:
    """`current` is what connections ask: None while nothing is in the way."""

    def __init__(
        self,
        nameserver: NameServer,
        *,
        time: Callable[[], float],
        requests_per_second: int = 0,
        authority: "Authority | None" = None,
    ) -> None:
        self._nameserver = nameserver
        self._time = time
        self._per_second = requests_per_second
        self.authority = authority
        self._going_away = False
        self._busy = False
        self.current: Gate | None = None
        self._choose()

    @property
    def busy(self) -> bool:
        return self._busy

    def set_busy(self, busy: bool) -> None:
        """Look-ups are to be turned away, or no longer."""
        self._busy = busy
        self._choose()

    def send_away(self) -> None:
        """Whoever understands it is to go elsewhere. Java: enableShutdownGracefully."""
        self._going_away = True
        self._choose()

    def _choose(self) -> None:
        stands = self._going_away or self._busy or self._per_second or self.authority is not None
        self.current = self if stands else None

    def refusal(self, party: "Party", command: Command) -> Reply | None:
        """What is answered in the handler's place; None: it may pass."""
        if self._going_away and command.version > VERSION_5_3_1:
            return _GO_AWAY
        if (self._busy or self._per_second) and self._is_too_much(party, command.code):
            return _BUSY
        return None if self.authority is None else self.authority.refusal(party, command)

    def _is_too_much(self, party: Asking, code: int) -> bool:
        """Brokers are served first: what only they send, and whatever comes from one that is registered."""
        routes = self._nameserver.routes
        if code in BROKER_TRAFFIC or party.number in routes.registered_over:
            return False
        if self._busy:
            self._nameserver.exceeded["busy"] += 1
            return True
        if party.host.may_ask(self._time(), per_second=self._per_second):
            return False
        self._nameserver.exceeded["requests_per_second"] += 1
        return True
