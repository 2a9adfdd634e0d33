"""Pre-dispatch checks: shutdown, overload, authorization.

`Admission.current` is None while no check applies, so that a server without authentication and below its limits pays
nothing for them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from routebook.access.identity import Identity
from routebook.codes import VERSION_5_3_1, RequestCode, ResponseCode
from routebook.server.net.requester import Requester
from routebook.server.net.service import Service
from routebook.wire.command import Command, Reply

if TYPE_CHECKING:
    from routebook.server.access.authorize import Authorizer, Permit

_LOOKUP: Final = int(RequestCode.GET_ROUTEINFO_BY_TOPIC)
_GO_AWAY: Final = Reply(code=ResponseCode.GO_AWAY, remark="please go away")
# Java: NettyRemotingAbstract answers this when its queues are full
_BUSY: Final = Reply(code=ResponseCode.SYSTEM_BUSY, remark="[OVERLOAD]system busy, start flow control for a while")


class Admission:
    """Decides whether a request is dispatched. `current` is this object while a check applies, else None."""

    def __init__(
        self,
        service: Service,
        *,
        time: Callable[[], float],
        requests_per_second: int = 0,
        authorizer: "Authorizer | None" = None,
    ) -> None:
        self._service = service
        self._time = time
        self._per_second = requests_per_second
        self.authorizer = authorizer
        self._is_shutting_down = False
        self.is_busy = False
        self.current: Admission | None = None
        self._update()

    def set_busy(self, is_busy: bool) -> None:
        """Reject look-ups while the server is overloaded."""
        self.is_busy = is_busy
        self._update()

    def shut_down(self) -> None:
        """Answer GO_AWAY to clients that support it. Java: enableShutdownGracefully."""
        self._is_shutting_down = True
        self._update()

    def _update(self) -> None:
        applies = self._is_shutting_down or self.is_busy or self._per_second or self.authorizer is not None
        self.current = self if applies else None

    def refusal(self, requester: Requester, command: Command) -> Reply | None:
        """Return the answer to a request that is not dispatched; None: dispatch it."""
        if self._is_shutting_down and command.version > VERSION_5_3_1:
            return _GO_AWAY
        if (self.is_busy or self._per_second) and self._exceeds_limit(requester, command.code):
            return _BUSY
        return None if self.authorizer is None else self._authorize(self.authorizer, requester, command)

    def look_up_permit(self, requester: Requester) -> "Permit | None":
        """The permit of the last look-up of this connection if it is in force, and nothing else applies."""
        permit, authorizer = requester.look_up_permit, self.authorizer
        if permit is None or authorizer is None or not authorizer.is_in_force(permit):
            return None
        return None if self._is_shutting_down or self.is_busy or self._per_second else permit

    @staticmethod
    def _authorize(authorizer: "Authorizer", requester: Requester, command: Command) -> Reply | None:
        found = authorizer.authorize(
            command,
            peer=requester.address,
            host=requester.host.name,
            certificate_names=requester.certificate_names,
            is_tls=requester.tls is not None,
        )
        if isinstance(found, Identity):
            requester.set_identity(found)
            if command.code == _LOOKUP:
                requester.look_up_permit = authorizer.permit(command)
            return None
        return found

    def _exceeds_limit(self, requester: Requester, code: int) -> bool:
        """Requests that only brokers send, and requests of registered brokers, are exempt from the limits."""
        service = self._service
        if code in service.broker_codes or requester.caller.connection in service.broker_connections:
            return False
        if self.is_busy:
            service.exceeded["busy"] += 1
            return True
        if requester.host.take_token(self._time(), per_second=self._per_second):
            return False
        service.exceeded["requests_per_second"] += 1
        return True
