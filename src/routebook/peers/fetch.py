"""Asks a Routebook over HTTP, with the standard library, on a thread: once a minute is not worth more."""

import asyncio
from base64 import b64encode
from http.client import HTTPConnection, HTTPException
from typing import Final, TypeVar

import msgspec

from routebook.client.signing import Credentials

T = TypeVar("T")

_MAX_BYTES: Final = 64 << 20


class Fetch:
    """One peer's HTTP port."""

    def __init__(self, host: str, port: int, *, timeout_s: float = 5.0, credentials: Credentials | None = None) -> None:
        self._host = host
        self._port = port
        self._timeout_s = timeout_s
        self._headers = {"accept": "application/json", "connection": "close"}
        if credentials is not None:
            pair = f"{credentials.access_key}:{credentials.secret_key}".encode()
            self._headers["authorization"] = f"Basic {b64encode(pair).decode()}"
        self.problem: str | None = None  # why the last request had no answer

    async def get(self, path: str, kind: type[T]) -> T | None:
        """What it answers; None where it does not answer, or something else does."""
        try:
            body = await asyncio.to_thread(self._get, path)
            answer = msgspec.json.decode(body, type=kind)
        except (OSError, HTTPException, msgspec.DecodeError, UnicodeError, RecursionError, _Refused) as problem:
            self.problem = f"http://{self._host}:{self._port}{path}: {str(problem) or type(problem).__name__}"
            return None
        self.problem = None
        return answer

    def _get(self, path: str) -> bytes:
        connection = HTTPConnection(self._host, self._port, timeout=self._timeout_s)
        try:
            connection.request("GET", path, headers=self._headers)
            response = connection.getresponse()
            if response.status != 200:
                raise _Refused(f"{response.status} {response.reason}")
            return response.read(_MAX_BYTES)
        finally:
            connection.close()


class _Refused(Exception):
    """Another status than 200."""
