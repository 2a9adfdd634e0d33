"""GET requests to the HTTP port of a peer, run on a thread."""

import asyncio
from typing import TypeVar

from routebook.client.http import HttpClient, basic_authorization
from routebook.client.signing import Credentials
from routebook.errors import RoutebookError

T = TypeVar("T")


class PeerHttp:
    """The HTTP port of one peer. `problem` is why the last request failed."""

    def __init__(self, host: str, port: int, *, timeout_s: float = 5.0, credentials: Credentials | None = None) -> None:
        headers = None if credentials is None else basic_authorization(credentials.access_key, credentials.secret_key)
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._http = HttpClient(f"http://{address}", timeout_s=timeout_s, headers=headers)
        self.problem: str | None = None

    async def get(self, path: str, kind: type[T]) -> T | None:
        """Return the decoded response, or None if the request failed."""
        try:
            found = await asyncio.to_thread(self._http.get, path, kind)
        except RoutebookError as error:
            self.problem = f"{path}: {error}"
            return None
        self.problem = None
        return found
