"""Messages of etcd's JSON gateway: numbers are strings there, and keys and values base64. Pure."""

from typing import Any, Final

import msgspec

# etcd has not executed a request that it answers so: the token is unknown to this member, or older than the rights
_TOKEN_PROBLEMS: Final = ("invalid auth token", "revision in header is old", "user name is empty")


class Header(msgspec.Struct, frozen=True):
    revision: int = 0


class KeyValue(msgspec.Struct, frozen=True):
    """A key. `create_revision` changes when it is deleted and created again, `mod_revision` with every write."""

    key: bytes
    value: bytes = b""
    create_revision: int = 0
    mod_revision: int = 0
    lease: int = 0


class Range(msgspec.Struct, frozen=True):
    header: Header = Header()
    kvs: list[KeyValue] = []
    more: bool = False


class _Response(msgspec.Struct, frozen=True):
    response_range: Range = Range()


class Transaction(msgspec.Struct, frozen=True):
    """The answer to a transaction."""

    header: Header
    succeeded: bool = False
    responses: list[_Response] = []

    def found(self, number: int) -> KeyValue | None:
        """The key that the `get` at this position found."""
        rows = self.responses[number].response_range.kvs
        return rows[0] if rows else None


class Granted(msgspec.Struct, frozen=True):
    ID: int
    TTL: int


class _Left(msgspec.Struct, frozen=True):
    TTL: int = 0


class KeptAlive(msgspec.Struct, frozen=True):
    result: _Left


class Authenticated(msgspec.Struct, frozen=True):
    token: str


class Problem(msgspec.Struct, frozen=True):
    """An error answer. etcd 3.4 and 3.5 fill both fields, 3.6 only `message`."""

    error: str = ""
    message: str = ""

    @property
    def is_about_token(self) -> bool:
        text = self.message or self.error
        return any(part in text for part in _TOKEN_PROBLEMS)


class WatchEvent(msgspec.Struct, frozen=True):
    """A put or a deletion."""

    kv: KeyValue
    type: str = "PUT"

    @property
    def is_deletion(self) -> bool:
        return self.type == "DELETE"


class WatchResult(msgspec.Struct, frozen=True):
    events: list[WatchEvent] = []
    canceled: bool = False
    cancel_reason: str = ""
    compact_revision: int = 0


class Watched(msgspec.Struct, frozen=True):
    result: WatchResult = WatchResult()


def range_of(prefix: bytes) -> dict[str, bytes]:
    """The fields of a request for all keys with a prefix."""
    return {"key": prefix, "range_end": prefix[:-1] + bytes([prefix[-1] + 1])}


def created_at(key: bytes, revision: int) -> dict[str, Any]:
    """Compare: a key was created at this revision; 0: it does not exist."""
    return {"result": "EQUAL", "target": "CREATE", "key": key, "create_revision": revision}


def modified_at(key: bytes, revision: int) -> dict[str, Any]:
    """Compare: a key was last written at this revision; 0: it does not exist."""
    return {"result": "EQUAL", "target": "MOD", "key": key, "mod_revision": revision}


def put(key: bytes, value: bytes, *, lease: int = 0) -> dict[str, Any]:
    return {"request_put": {"key": key, "value": value, "lease": lease}}


def get(key: bytes) -> dict[str, Any]:
    return {"request_range": {"key": key}}


def delete(key: bytes) -> dict[str, Any]:
    return {"request_delete_range": {"key": key}}
