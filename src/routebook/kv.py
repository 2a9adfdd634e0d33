"""The KV configuration: namespaces of keys and values, kept whole in one file of Java's layout.

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
    """All namespaces. `revision` counts changes."""

    __slots__ = ("_namespaces", "revision")

    def __init__(self, namespaces: Mapping[str, Mapping[str, str | None]] | None = None) -> None:
        self._namespaces: dict[str, Table] = {name: dict(table) for name, table in (namespaces or {}).items()}
        self.revision = 0

    def __len__(self) -> int:
        """How many entries there are, over all namespaces."""
        return sum(map(len, self._namespaces.values()))

    def get(self, namespace: str, key: str) -> str | None:
        """The value; None where there is none, or where it is null."""
        table = self._namespaces.get(namespace)
        return None if table is None else table.get(key)

    def list(self, namespace: str) -> Table | None:
        """The namespace as it is, nulls included; None where there is none. Not to be changed by the caller."""
        return self._namespaces.get(namespace)

    def namespaces(self) -> Mapping[str, Table]:
        """Everything. Not to be changed by the caller."""
        return self._namespaces

    def put(self, namespace: str, key: str, value: str | None) -> tuple[KvChanged, ...]:
        """Set a value. Null is a value too: it is kept, and shows nowhere (Java: KVConfigManager.putKVConfig)."""
        table = self._namespaces.setdefault(namespace, {})
        if key in table and table[key] == value:
            return ()
        before = table.get(key)
        table[key] = value
        self.revision += 1
        return (KvChanged(namespace=namespace, key=key, before=before, after=value),)

    def delete(self, namespace: str, key: str) -> tuple[KvChanged, ...]:
        """Remove a key. A namespace that this empties stays."""
        table = self._namespaces.get(namespace)
        if table is None or key not in table:
            return ()
        before = table.pop(key)
        self.revision += 1
        return (KvChanged(namespace=namespace, key=key, before=before, deleted=True),)

    def encode(self) -> bytes:
        """The file's content: one line, nulls left out, as Java writes it."""
        shown = {name: _without_nulls(table) for name, table in self._namespaces.items()}
        try:
            return _encoder.encode({"configTable": shown})
        except UnicodeEncodeError:
            # half a surrogate pair has no UTF-8; Java writes a question mark
            return _encoder.encode(
                {"configTable": {_whole(name): _whole_table(table) for name, table in shown.items()}}
            )


def _without_nulls(table: Table) -> dict[str, str]:
    return {key: value for key, value in table.items() if value is not None}


def _whole_table(table: dict[str, str]) -> dict[str, str]:
    return {_whole(key): _whole(value) for key, value in table.items()}


def _whole(text: str) -> str:
    return _SURROGATE.sub("?", text)
