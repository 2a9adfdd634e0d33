"""The token of a user in etcd. One login serves all requests: etcd hashes the password, which takes much CPU time."""

import asyncio
import time
from typing import Final

import httpx
import msgspec

from routebook.server.controller.etcd_messages import Authenticated
from routebook.server.controller.log import LogError

_TIMEOUT_S: Final = 10.0  # longer than that of a request, which may give up and find the token at its next attempt
_RETRY_S: Final = 1.0


class Login:
    """Logs in on demand; a failure is repeated to all requests for a second."""

    def __init__(self, client: httpx.AsyncClient, name: str, password: str) -> None:
        self._client = client
        self._name = name
        self._content = msgspec.json.encode({"name": name, "password": password})
        self._token: str | None = None
        self._running: asyncio.Task[str] | None = None
        self._failed_at = float("-inf")

    async def token(self, endpoint: str) -> str:
        """The token; logs in at this endpoint if there is none. Raises LogError."""
        if self._token is not None:
            return self._token
        running = self._running
        if running is None or (running.done() and time.monotonic() - self._failed_at > _RETRY_S):
            self._running = running = asyncio.create_task(self._log_in(endpoint))
            running.add_done_callback(_retrieve)
        return await asyncio.shield(running)

    def forget(self, token: str) -> None:
        """etcd has rejected this token."""
        if self._token == token:
            self._token = self._running = None

    async def _log_in(self, endpoint: str) -> str:
        try:
            response = await self._client.post(
                f"{endpoint}/v3/auth/authenticate", content=self._content, timeout=_TIMEOUT_S
            )
            if response.status_code != httpx.codes.OK:
                raise LogError(f"user {self._name} cannot log in: {response.text.strip()}")
            self._token = msgspec.json.decode(response.content, type=Authenticated).token
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            self._failed_at = time.monotonic()
            raise LogError(f"user {self._name} cannot log in: {str(error) or type(error).__name__}") from error
        except LogError:
            self._failed_at = time.monotonic()
            raise
        return self._token


def _retrieve(task: asyncio.Task[str]) -> None:
    """A failure is known even if no request waited for it."""
    if not task.cancelled():
        task.exception()
