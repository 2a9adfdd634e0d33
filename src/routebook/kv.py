"""KV configuration: namespaces of keys and values, stored in one file with Java's layout.

{"configTable":{"ORDER_TOPIC_CONFIG":{"TopicTest":"broker-a:4"},"emptied":{}}}
"""

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from routebook.events import KvChanged

Table: TypeAlias = dict[str, str | None]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_encoder: Final = msgspec.json.Encoder()


class KvStore:
    """All namespaces. `revision` counts the changes."""

    __slots__ = ("_namespaces", "revision")

    def __init__(self, namespaces: Mapping[str, Mapping[str, str | None]] | None = None) -> None:
        self._namespaces: dict[str, Table] = {name: dict(table) for name, table in (namespaces or {}).items()}
        self.revision = 0

    def __len__(self) -> int:
        """The number of entries in all namespaces."""
        return sum(map(len, self._namespaces.values()))

    def get(self, namespace: str, key: str) -> str | None:
        """The value; None if it is missing or null."""
        table = self._namespaces.get(namespace)
        return None if table is None else table.get(key)

    def list(self, namespace: str) -> Table | None:
        """The namespace, including null values; None if it is missing. Read-only."""
        return self._namespaces.get(namespace)

    def namespaces(self) -> Mapping[str, Table]:
        """All namespaces. Read-only."""
        return self._namespaces

    def put(self, namespace: str, key: str, value: str | None) -> tuple[KvChanged, ...]:
        """Set a value. A null value is stored, and never returned (Java: KVConfigManager.putKVConfig)."""
        table = self._namespaces.setdefault(namespace, {})
        if key in table and table[key] == value:
            return ()
        before = table.get(key)
        table[key] = value
        self.revision += 1
        return (KvChanged(namespace=namespace, key=key, before=before, after=value),)

    def delete(self, namespace: str, key: str) -> tuple[KvChanged, ...]:
        """Remove a key. The namespace stays, even without keys."""
        table = self._namespaces.get(namespace)
        if table is None or key not in table:
            return ()
        before = table.pop(key)
        self.revision += 1
        return (KvChanged(namespace=namespace, key=key, before=before, deleted=True),)

    def encode(self) -> bytes:
        """The content of the file as Java writes it: one line, without null values."""
        shown = {name: _without_nulls(table) for name, table in self._namespaces.items()}
        try:
            return _encoder.encode({"configTable": shown})
        except UnicodeEncodeError:
            # Java: writes a lone surrogate, which has no UTF-8 form, as a question mark
            return _encoder.encode(
                {"configTable": {_encodable(name): _encodable_table(table) for name, table in shown.items()}}
            )


def _without_nulls(table: Table) -> dict[str, str]:
    return {key: value for key, value in table.items() if value is not None}


def _encodable_table(table: dict[str, str]) -> dict[str, str]:
    return {_encodable(key): _encodable(value) for key, value in table.items()}


def _encodable(text: str) -> str:
    return _SURROGATE.sub("?", text)
