"""KV configuration: namespaces of keys and values, stored in one file with Java's layout.

{"configTable":{"ORDER_TOPIC_CONFIG":{"TopicTest":"broker-a:4"},"emptied":{}}}

The file is encoded on another thread from an image of the table. An image shares the tables of the store; a change
copies the table of its namespace first if an image shares it.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from routebook.events import KvChanged

Table: TypeAlias = dict[str, str | None]

_ENTRY_OVERHEAD: Final = 128  # bytes of memory beside the text
_CHUNK_ENTRIES: Final = 64
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_encode: Final = msgspec.json.Encoder().encode


class KvStore:
    """All namespaces. `revision` counts the changes, `size` is the memory of all entries in bytes."""

    __slots__ = ("_namespaces", "_revisions", "_shared", "_sizes", "revision", "size")

    def __init__(self, namespaces: Mapping[str, Mapping[str, str | None]] | None = None) -> None:
        self._namespaces: dict[str, Table] = {name: dict(table) for name, table in (namespaces or {}).items()}
        self._shared: set[str] = set()  # namespaces whose table is part of an image
        self._revisions: dict[str, int] = {}  # of the last change of each namespace
        self._sizes = {
            name: sum(entry_size(key, value) for key, value in table.items())
            for name, table in self._namespaces.items()
        }
        self.size = sum(self._sizes.values())
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

    def namespace_size(self, namespace: str) -> int:
        """The memory of a namespace in bytes."""
        return self._sizes.get(namespace, 0)

    def namespace_revision(self, namespace: str) -> int:
        """The revision of the last change of a namespace."""
        return self._revisions.get(namespace, 0)

    def growth(self, namespace: str, key: str, value: str | None) -> int:
        """By how many bytes a `put` would increase `size`."""
        table = self._namespaces.get(namespace, {})
        return entry_size(key, value) - (entry_size(key, table[key]) if key in table else 0)

    def put(self, namespace: str, key: str, value: str | None) -> tuple[KvChanged, ...]:
        """Set a value. A null value is stored, and never returned (Java: KVConfigManager.putKVConfig)."""
        table = self._namespaces.setdefault(namespace, {})
        if key in table and table[key] == value:
            return ()
        before = table.get(key)
        growth = self.growth(namespace, key, value)
        self._own_table(namespace)[key] = value
        self._changed(namespace, growth)
        return (KvChanged(namespace=namespace, key=key, before=before, after=value),)

    def delete(self, namespace: str, key: str) -> tuple[KvChanged, ...]:
        """Remove a key. The namespace stays, even without keys."""
        table = self._namespaces.get(namespace)
        if table is None or key not in table:
            return ()
        before = self._own_table(namespace).pop(key)
        self._changed(namespace, -entry_size(key, before))
        return (KvChanged(namespace=namespace, key=key, before=before, deleted=True),)

    def image(self) -> "KvImage":
        """The current content; later changes do not affect it."""
        self._shared = set(self._namespaces)
        return KvImage(dict(self._namespaces))

    def encode(self) -> bytes:
        """The content of the file."""
        return b"".join(self.image().chunks())

    def _own_table(self, namespace: str) -> Table:
        """The table of a namespace that no image shares."""
        if namespace in self._shared:
            self._shared.discard(namespace)
            self._namespaces[namespace] = dict(self._namespaces[namespace])
        return self._namespaces[namespace]

    def _changed(self, namespace: str, growth: int) -> None:
        self.revision += 1
        self._revisions[namespace] = self.revision
        self._sizes[namespace] = self._sizes.get(namespace, 0) + growth
        self.size += growth


class KvImage:
    """The content of a store at one time."""

    __slots__ = ("_namespaces",)

    def __init__(self, namespaces: Mapping[str, Table]) -> None:
        self._namespaces = namespaces

    def chunks(self) -> Iterator[bytes]:
        """The content of the file as Java writes it: one line, without null values.

        In small chunks, so that the thread that encodes it does not hold the interpreter for long.
        """
        separator = b'{"configTable":{'
        for name, table in self._namespaces.items():
            yield separator + _encode(_encodable(name)) + b":{"
            entries = ((key, value) for key, value in table.items() if value is not None)
            between = b""
            while batch := dict(islice(entries, _CHUNK_ENTRIES)):
                yield between + _encode_entries(batch)
                between = b","
            separator = b"},"
        yield b'{"configTable":{}}' if not self._namespaces else b"}}}"


def entry_size(key: str, value: str | None) -> int:
    """The memory of an entry in bytes."""
    return _ENTRY_OVERHEAD + len(key) + (0 if value is None else len(value))


def _encode_entries(entries: dict[str, str]) -> bytes:
    """The members of a JSON object, without its braces."""
    try:
        return _encode(entries)[1:-1]
    except UnicodeEncodeError:
        # Java: writes a lone surrogate, which has no UTF-8 form, as a question mark
        return _encode({_encodable(key): _encodable(value) for key, value in entries.items()})[1:-1]


def _encodable(text: str) -> str:
    return _SURROGATE.sub("?", text)
