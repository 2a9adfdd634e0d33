"""Reads JSON as leniently as fastjson2 2.0.59, the JSON library of RocketMQ 5.5.0, given the expected types.

A `Reader` is a cursor over bytes. Each method reads one value of one type at the cursor, converts it as fastjson2 does,
and skips blanks and one comma after it. The consequences are intended, because peers rely on them: a missing comma
between members is accepted, so is a trailing one, quotes may be single, numbers may be quoted.

    bean(fields)      an object with known members; unknown ones are skipped
    int32 int64 boolean string enum(names)
    text_map          Map<String, String>: all values are converted to text
    map_of(value)     Map<String, T>
    map_by(key, value)  Map<Integer, T>, Map<Long, T>: keys may be unquoted
    strings           List<String>; member_strings for a member of a bean
    list_of(item)     List<T>
    skip              a value of any type
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

from routebook.wire.fastjson.cursor import KNOWN_COLON, QUOTES
from routebook.wire.fastjson.untyped import UntypedReader
from routebook.wire.fastjson.values import as_text, number_text, to_int32

K = TypeVar("K")
T = TypeVar("T")

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")


class Reader(UntypedReader):
    """Reads values one after the other, each as the type that the caller expects."""

    __slots__ = ()

    def bean(self, fields: Mapping[str, Callable[["Reader"], object]]) -> dict[str, object] | None:
        """An object with known members; the result has those that are present, each read by its own function."""
        if self._at(b"["):
            raise self.error("an object is expected, not an array")
        if not self._open(b"{") and self._null_or_empty():
            return None
        found: dict[str, object] = {}
        while not self._close(b"}"):
            if self._at(b"/"):
                self._comment()
            if self._at(b"}") or self._data.startswith(b"nu", self._pos):
                break  # Java: readFieldNameHashCode returns -1, the loop ends and the brace is not consumed
            name = self._bean_name()
            read = fields.get(name)
            if read is None:
                self._colon()
                self.skip()
            else:
                self._colon(KNOWN_COLON)
                found[name] = read(self)
        return found

    def string(self) -> str | None:
        """Text; other values are converted to text, and an array with one text to that text."""
        ch = self._data[self._pos]
        if ch in QUOTES:
            text = self._quoted()
            self._after_value()
            return text
        if ch == ord("n"):
            self._null()
            return None
        if ch == ord("["):
            items = self._array()
            if len(items) == 1 and (items[0] is None or isinstance(items[0], str)):
                return items[0]
            return as_text(items)
        if ch == ord("{"):
            return as_text(self._object())
        if ch in b"+-0123456789":
            number = self._number()
            return "null" if number is None else number_text(number)
        if ch in b"tf":
            return "true" if self.boolean() else "false"
        raise self.error("text is expected")

    def int32(self) -> int:
        return self._integer(32)

    def int64(self) -> int:
        return self._integer(64)

    def boxed_int32(self) -> int | None:
        """Java: Integer."""
        return None if self._null_or_empty() else self._integer(32)

    def boxed_int64(self) -> int | None:
        """Java: Long."""
        return None if self._null_or_empty() else self._integer(64)

    def atomic_int64(self) -> int | None:
        """Java: AtomicLong, for which only an unquoted null is None."""
        if self._at(b"n"):
            self._null()
            return None
        return self._integer(64)

    def enum(self, names: Sequence[str]) -> str | None:
        """A Java enum constant, by name (ignoring case, `_` and `-`) or ordinal; None for an unknown name."""
        if self._data[self._pos] in b"+-0123456789":
            ordinal = self.int32()
            if not 0 <= ordinal < len(names):
                raise self.error(f"ordinal {ordinal} is out of range")
            return names[ordinal]
        if self._null_or_empty():
            return None
        if self._data[self._pos] not in QUOTES:
            return None  # Java: consumes nothing; the text is read as the next member
        single = self._at(b"'")
        name = self._hashed_text()
        if single and len(name) > 8:
            raise self.error("a long name needs double quotes")  # Java: readValueHashCode accepts no others
        self._after_value()
        if name in names:
            return name
        folded = _fold(name)
        for candidate in names:
            if _fold(candidate) == folded:
                return candidate
        if not _INTEGER.fullmatch(name):
            return None
        try:
            ordinal = to_int32([name])
        except ValueError as why:
            raise self.error(str(why)) from why
        return names[ordinal] if 0 <= ordinal < len(names) else None

    def text_map(self) -> dict[str, str | None] | None:
        """Java: Map<String, String>. An array with one object counts as that object."""
        if not self._open(b"{"):
            if self._at(b"["):
                self._enter()
                self._next()
                if not self._at(b"{"):
                    raise self.error("an object is expected, not an array")
                inner = self.text_map()
                if not self._close(b"]"):
                    raise self.error("a single object is expected")
                self._depth -= 1
                self._skip_comma()
                return inner
            if self._null_or_empty():
                return None
            # Java: ObjectReaderImplMapString continues as if the brace were present
        found: dict[str, str | None] = {}
        while not self._close(b"}"):
            name = self._member_name()
            value = self.string()
            if name is not None:
                found[name] = value
        self._skip_comma()
        return found

    def map_of(self, value: Callable[["Reader"], T], *, concurrent: bool = False) -> dict[str, T] | None:
        """Java: Map<String, T>; a ConcurrentMap rejects a null key."""
        if not self._open(b"{"):
            if self._null_or_empty():
                return None
            raise self.error("an object is expected")
        found: dict[str, T] = {}
        while not self._close(b"}") and not self._at(b"\x1a"):
            name = self._member_name()
            if name is None:
                name = self.string()
                if not self._skip(b":"):
                    raise self.error("a colon is expected")
            item = value(self)
            if name is not None:
                found[name] = item
            elif concurrent:
                raise self.error("a key is null")
        self._skip_comma()
        return found

    def map_by(self, key: Callable[["Reader"], K], value: Callable[["Reader"], T]) -> dict[K, T] | None:
        """Java: Map<K, T> with numeric keys: unquoted, quoted, or a value that can be converted to a number."""
        if not self._open(b"{"):
            if self._null_or_empty():
                return None
            raise self.error("an object is expected")
        found: dict[K, T] = {}
        while not self._close(b"}") and not self._at(b"\x1a"):
            name = key(self)
            self._skip(b":")
            found[name] = value(self)
        self._skip_comma()
        return found

    def strings(self) -> list[str | None] | None:
        """Java: List<String>. A single text counts as a list with one element."""
        if self._data.startswith(b"null", self._pos):
            self._null()
            return None
        found: list[str | None] = []
        if self._at(b"["):
            self._next()
            while not self._close(b"]"):
                found.append(self.string())
        elif self._data[self._pos] in b"\"'{":
            if text := self.string():
                found.append(text)
        else:
            raise self.error("a list is expected")
        self._skip_comma()
        return found

    def member_strings(self) -> list[str | None] | None:
        """Java: List<String> as a member of a bean, read by generated code: None if neither list nor text."""
        if self._at(b"["):
            self._next()
            found: list[str | None] = []
            while not self._close(b"]"):
                found.append(self.string())
            return found
        if self._data.startswith(b"nu", self._pos):
            self._null()
            return None
        if self._data[self._pos] in QUOTES:
            return [] if self._null_or_empty() else [self.string()]
        self.skip()
        return None

    def byte_array(self) -> list[int] | None:
        """Java: byte[]. A list of numbers; text is rejected."""
        return self._numbers(Reader.int32)

    def longs(self) -> list[int | None] | None:
        """Java: Set<Long>. A list of numbers; a single number is rejected."""
        return self._numbers(Reader.boxed_int64)

    def _numbers(self, number: Callable[["Reader"], T]) -> list[T] | None:
        if self._null_or_empty():
            return None
        if not self._at(b"["):
            raise self.error("a list of numbers is expected")
        return self.list_of(number)

    def list_of(self, item: Callable[["Reader"], T]) -> list[T] | None:
        """Java: List<T> of beans. A single object counts as a list with one element."""
        if self._null_or_empty():
            return None
        if not self._at(b"["):
            return [item(self)]
        self._next()
        found: list[T] = []
        while not self._close(b"]"):
            if self._at(b"\x1a"):
                raise self.error("the list does not end")
            found.append(item(self))
        return found


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
