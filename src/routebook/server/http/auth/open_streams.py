"""Ends the event streams and WebSockets of an identity that was revoked or changed."""

import asyncio
from collections.abc import Awaitable

from routebook.access.identity import Identity
from routebook.server.http.context import HttpContext


class OpenStreams:
    """The tasks that serve streams, by the identity that opened each."""

    def __init__(self, context: HttpContext) -> None:
        self._access = context.access
        self._open: dict[asyncio.Task[object], Identity] = {}
        self._revoked: set[asyncio.Task[object]] = set()
        if self._access is not None:
            self._access.on_change.append(self.revoke)

    async def serve(self, identity: Identity | None, stream: Awaitable[None]) -> bool:
        """Run a stream in this task; False if it ended because its identity was revoked."""
        task = asyncio.current_task()
        if identity is None or task is None:  # authentication is off
            await stream
            return True
        self._open[task] = identity
        try:
            await stream
        except asyncio.CancelledError:
            if task not in self._revoked:
                raise
            task.uncancel()
            return False
        finally:
            del self._open[task]
            self._revoked.discard(task)
        return True

    def revoke(self) -> None:
        """Cancel the streams whose identity was removed, or has other rights or credentials."""
        if self._access is None:
            return
        identities = self._access.identities
        for task, identity in self._open.items():
            if task not in self._revoked and not identities.is_in_force(identity):
                self._revoked.add(task)
                task.cancel()
