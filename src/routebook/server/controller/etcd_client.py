"""A small client of etcd's JSON gateway: range, fenced transactions, leases and watches. Keys and values are bytes."""

import base64
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final

import httpx
import msgspec

from routebook.server.controller.log import LogError

REQUEST_TIMEOUT_S: Final = 1.0


class KeyValue(msgspec.Struct, frozen=True):
    """A key as etcd returns it. `value` None: deleted (in a watch)."""

    key: bytes
    value: bytes | None
    create_revision: int
    mod_revision: int


class EtcdClient:
    """Requests go to the first endpoint that answers; a failing one moves to the end of the list."""

    def __init__(self, endpoints: Sequence[str], *, verify: Any = True, auth: tuple[str, str] | None = None) -> None:
        self._endpoints = list(endpoints)
        self._client = httpx.AsyncClient(timeout=REQUEST_TIMEOUT_S, verify=verify)
        self._auth = auth
        self._token: str | None = None

    @property
    def endpoint(self) -> str:
        return self._endpoints[0]

    def next_endpoint(self) -> None:
        self._endpoints.append(self._endpoints.pop(0))

    async def call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """One request to the current endpoint. Raises LogError; the outcome of a write is then unknown."""
        try:
            response = await self._client.post(self.endpoint + path, json=body, headers=await self._headers())
            answer: dict[str, Any] = json.loads(response.text.split("\n", 1)[0] or "{}")
        except (httpx.HTTPError, ValueError) as error:
            failed = self.endpoint
            self.next_endpoint()
            raise LogError(f"etcd at {failed}: {_reason(error)}") from error
        if response.status_code != 200 or "error" in answer:
            self._token = None
            why = answer.get("message") or answer.get("error") or response.status_code
            raise LogError(f"etcd at {self.endpoint}: {why}")
        return answer

    async def range(self, prefix: bytes) -> tuple[list[KeyValue], int]:
        """All keys with a prefix, read from a majority, and the revision of the read."""
        body = {"key": _b64(prefix), "range_end": _b64(_end(prefix))}
        answer = await self.call("/v3/kv/range", body)
        return [_key_value(row) for row in answer.get("kvs", ())], int(answer["header"]["revision"])

    async def transaction(
        self,
        compare: Sequence[dict[str, Any]],
        success: Sequence[dict[str, Any]],
        failure: Sequence[dict[str, Any]] = (),
    ) -> dict[str, Any]:
        """Apply `success` if all comparisons hold, else `failure`; the answer has `succeeded` and `responses`."""
        body = {"compare": list(compare), "success": list(success), "failure": list(failure)}
        return await self.call("/v3/kv/txn", body)

    async def grant(self, ttl_s: int) -> int:
        return int((await self.call("/v3/lease/grant", {"TTL": ttl_s}))["ID"])

    async def keep_alive(self, lease: int) -> bool:
        """Renew a lease; False: it has expired."""
        answer = await self.call("/v3/lease/keepalive", {"ID": lease})
        return int(answer.get("result", {}).get("TTL", 0)) > 0

    async def revoke(self, lease: int) -> None:
        await self.call("/v3/lease/revoke", {"ID": lease})

    async def watch(self, prefix: bytes, *, from_revision: int) -> AsyncIterator[list[KeyValue]]:
        """Changes under a prefix as they are committed. Raises LogError where the stream breaks or was compacted."""
        request = {
            "create_request": {"key": _b64(prefix), "range_end": _b64(_end(prefix)), "start_revision": from_revision}
        }
        timeout = httpx.Timeout(REQUEST_TIMEOUT_S, read=None)
        try:
            async with self._client.stream(
                "POST", f"{self.endpoint}/v3/watch", json=request, timeout=timeout, headers=await self._headers()
            ) as stream:
                async for line in stream.aiter_lines():
                    result = json.loads(line).get("result", {})
                    if result.get("canceled"):
                        raise LogError(f"etcd at {self.endpoint}: the watch was cancelled (compacted revision)")
                    yield [_change(event) for event in result.get("events", ())]
        except (httpx.HTTPError, ValueError) as error:
            raise LogError(f"etcd at {self.endpoint}: watch: {_reason(error)}") from error

    async def close(self) -> None:
        await self._client.aclose()

    async def _headers(self) -> dict[str, str]:
        if self._auth is None:
            return {}
        if self._token is None:
            name, password = self._auth
            response = await self._client.post(
                f"{self.endpoint}/v3/auth/authenticate", json={"name": name, "password": password}
            )
            self._token = response.json().get("token", "")
        return {"Authorization": self._token or ""}


def created_at(key: bytes, revision: int) -> dict[str, Any]:
    """Compare: a key was created at this revision; 0: it does not exist."""
    return {"result": "EQUAL", "target": "CREATE", "key": _b64(key), "create_revision": revision}


def modified_at(key: bytes, revision: int) -> dict[str, Any]:
    """Compare: a key was last written at this revision; 0: it does not exist."""
    return {"result": "EQUAL", "target": "MOD", "key": _b64(key), "mod_revision": revision}


def put(key: bytes, value: bytes, *, lease: int = 0) -> dict[str, Any]:
    return {"request_put": {"key": _b64(key), "value": _b64(value), "lease": lease}}


def get(key: bytes) -> dict[str, Any]:
    return {"request_range": {"key": _b64(key)}}


def delete(key: bytes) -> dict[str, Any]:
    return {"request_delete_range": {"key": _b64(key)}}


def ranged(answer: dict[str, Any], index: int = 0) -> KeyValue | None:
    """The key that a `get` in a transaction found."""
    rows = answer["responses"][index].get("response_range", {}).get("kvs", ())
    return _key_value(rows[0]) if rows else None


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


def _change(event: dict[str, Any]) -> KeyValue:
    found = _key_value(event["kv"])
    return msgspec.structs.replace(found, value=None) if event.get("type") == "DELETE" else found


def _key_value(row: dict[str, Any]) -> KeyValue:
    return KeyValue(
        base64.b64decode(row["key"]),
        base64.b64decode(row.get("value", "")),
        int(row.get("create_revision", 0)),
        int(row["mod_revision"]),
    )


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _end(prefix: bytes) -> bytes:
    return prefix[:-1] + bytes([prefix[-1] + 1])
