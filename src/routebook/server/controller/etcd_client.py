"""A client of etcd's JSON gateway: reads, transactions, leases and watches.

Every request may be repeated without harm, so a request goes to the next endpoint too if one has failed or has not
answered within HEDGE_S; the first answer counts, and its endpoint is the first to be asked from then on. A member that
hangs or is cut off from the majority therefore costs a moment, not the lease.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final, TypeVar

import httpx
import msgspec

from routebook.server.controller.etcd_login import Login
from routebook.server.controller.etcd_messages import (
    Granted,
    KeptAlive,
    KeyValue,
    Problem,
    Range,
    Transaction,
    Watched,
    WatchResult,
    range_of,
)
from routebook.server.controller.log import LogError

T = TypeVar("T")

REQUEST_TIMEOUT_S: Final = 1.2  # of a request, all endpoints together
HEDGE_S: Final = 0.3
WATCH_SILENCE_S: Final = 5.0  # then the watch ends, so that its user checks whether the member is still in the majority
PAGE_KEYS: Final = 500  # keys per page of a load; the event loop serves requests between two pages

_encode = msgspec.json.Encoder().encode


class Compacted(LogError):
    """A watch cannot start at its revision, because etcd has discarded it: everything must be read again."""


class EtcdClient:
    """`problems` counts failures (`error`) and late answers (`slow`) by endpoint."""

    def __init__(self, endpoints: Sequence[str], *, verify: Any = True, auth: tuple[str, str] | None = None) -> None:
        self._endpoints = [endpoint.rstrip("/") for endpoint in endpoints]
        # trust_env: a proxy from the environment must not stand between a node and its etcd members
        self._client = httpx.AsyncClient(timeout=REQUEST_TIMEOUT_S, verify=verify, trust_env=False)
        self._login = None if auth is None else Login(self._client, *auth)
        self.problems: Counter[tuple[str, str]] = Counter()

    @property
    def endpoint(self) -> str:
        """The endpoint that answered last."""
        return self._endpoints[0]

    async def get(self, key: bytes) -> tuple[KeyValue | None, int]:
        """A key, read from a majority, and the revision of the read."""
        answer = await self._call("/v3/kv/range", {"key": key}, Range)
        return (answer.kvs[0] if answer.kvs else None), answer.header.revision

    async def load(self, prefix: bytes) -> tuple[list[KeyValue], int]:
        """All keys with a prefix as of one revision, read from a majority."""
        rows: list[KeyValue] = []
        request: dict[str, Any] = {**range_of(prefix), "limit": PAGE_KEYS}
        while True:
            answer = await self._call("/v3/kv/range", request, Range)
            rows += answer.kvs
            request.setdefault("revision", answer.header.revision)
            if not (answer.more and answer.kvs):
                return rows, request["revision"]
            request["key"] = answer.kvs[-1].key + b"\0"

    async def transaction(
        self,
        compare: Sequence[dict[str, Any]],
        success: Sequence[dict[str, Any]],
        failure: Sequence[dict[str, Any]] = (),
    ) -> Transaction:
        """Apply `success` if all comparisons hold, else `failure`. After LogError the outcome is unknown."""
        request = {"compare": compare, "success": success, "failure": failure}
        return await self._call("/v3/kv/txn", request, Transaction)

    async def grant(self, ttl_s: int) -> int:
        """A new lease. One whose answer is lost expires by itself."""
        return (await self._call("/v3/lease/grant", {"TTL": ttl_s}, Granted)).ID

    async def keep_alive(self, lease: int) -> bool:
        """Renew a lease; False: it has expired."""
        return (await self._call("/v3/lease/keepalive", {"ID": lease}, KeptAlive)).result.TTL > 0

    async def revoke(self, lease: int) -> None:
        await self._call("/v3/lease/revoke", {"ID": lease}, dict)

    async def watch(self, prefix: bytes, *, from_revision: int) -> AsyncGenerator[WatchResult, None]:
        """Changes under a prefix as they are committed; ends after WATCH_SILENCE_S without one. Raises LogError."""
        endpoint, headers = self.endpoint, await self._headers(self.endpoint)
        request = {"create_request": {**range_of(prefix), "start_revision": from_revision}}
        timeout = httpx.Timeout(REQUEST_TIMEOUT_S, read=WATCH_SILENCE_S)
        try:
            async with self._client.stream(
                "POST",
                f"{endpoint}/v3/watch",
                content=_encode(request),
                headers=headers,
                timeout=timeout,
            ) as stream:
                async for line in stream.aiter_lines():
                    result = msgspec.json.decode(line, type=Watched, strict=False).result
                    if result.compact_revision:
                        raise Compacted(f"etcd at {endpoint}: revision {from_revision} has been compacted")
                    if result.canceled:
                        self._forget_token(headers)  # the usual reason for a refused watch
                        raise self._failed(endpoint, f"the watch was cancelled: {result.cancel_reason}")
                    yield result
        except httpx.ReadTimeout:
            return
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            raise self._failed(endpoint, f"watch: {_reason(error)}") from error

    async def close(self) -> None:
        await self._client.aclose()

    async def _call(self, path: str, request: dict[str, Any], answer: type[T]) -> T:
        """The first answer of any endpoint."""
        content, left = _encode(request), list(self._endpoints)
        asked: dict[asyncio.Task[T], str] = {}
        problem = LogError(f"etcd at {self.endpoint}: no answer within {REQUEST_TIMEOUT_S} s")
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                while left or asked:
                    if left:
                        endpoint = left.pop(0)
                        asked[asyncio.create_task(self._ask(endpoint, path, content, answer))] = endpoint
                    done, late = await asyncio.wait(
                        asked, timeout=HEDGE_S if left else None, return_when=asyncio.FIRST_COMPLETED
                    )
                    for task in done:
                        endpoint = asked.pop(task)
                        error = task.exception()
                        if error is None:
                            self._prefer(endpoint)
                            return task.result()
                        if not isinstance(error, LogError):
                            raise error
                        problem = error
                    if not done:
                        self.problems.update((asked[task], "slow") for task in late)
        except TimeoutError:
            self.problems.update((endpoint, "slow") for endpoint in asked.values())
        finally:
            for task in asked:
                task.cancel()
        raise problem

    async def _ask(self, endpoint: str, path: str, content: bytes, answer: type[T]) -> T:
        """The answer of one endpoint. An expired token is renewed once: etcd has then not executed the request."""
        for is_last in (self._login is None, True):
            try:
                headers = await self._headers(endpoint)
                response = await self._client.post(endpoint + path, content=content, headers=headers)
                line = response.content.partition(b"\n")[0]  # of a stream (keepalive), the first message
                if response.status_code == httpx.codes.OK:
                    return msgspec.json.decode(line, type=answer, strict=False)
                why = msgspec.json.decode(line, type=Problem, strict=False)
            except (httpx.HTTPError, msgspec.MsgspecError) as error:
                raise self._failed(endpoint, _reason(error)) from error
            if is_last or not why.is_about_token:
                break
            self._forget_token(headers)
        raise self._failed(endpoint, why.message or why.error or f"HTTP status {response.status_code}")

    async def _headers(self, endpoint: str) -> dict[str, str]:
        if self._login is None:
            return {}
        try:
            return {"Authorization": await self._login.token(endpoint)}
        except LogError as error:
            raise self._failed(endpoint, str(error)) from None

    def _forget_token(self, headers: dict[str, str]) -> None:
        if self._login is not None:
            self._login.forget(headers["Authorization"])

    def _prefer(self, endpoint: str) -> None:
        if self._endpoints[0] != endpoint:
            self._endpoints.remove(endpoint)
            self._endpoints.insert(0, endpoint)

    def _failed(self, endpoint: str, why: str) -> LogError:
        self.problems[endpoint, "error"] += 1
        if self._endpoints[0] == endpoint:
            self._endpoints.append(self._endpoints.pop(0))
        return LogError(f"etcd at {endpoint}: {why}")


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
