"""JSON as fastjson2 2.0.59 reads it when told which type to expect: RocketMQ 5.5.0's idea of what is well-formed.

A `Reader` is a cursor over bytes. Each method reads one value of one type where the cursor stands, coerces it as
fastjson2 does, and moves on past blanks and one comma. What follows from that design is kept, because peers rely
on it: a missing comma between members goes unnoticed, a trailing one too, quotes may be single, numbers may be text.

    bean(fields)      an object with known members; unknown ones are skipped
    int32 int64 boolean string enum(names)
    text_map          Map<String, String>: every value becomes text
    map_of(value)     Map<String, T>
    map_by(key, value)  Map<Integer, T>, Map<Long, T>: keys may be bare numbers
    strings           List<String>; member_strings where it is a bean's member
    list_of(item)     List<T>
    skip              anything
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final, TypeVar

from routebook.wire.fastjson.cursor import QUOTES, Cursor
from routebook.wire.fastjson.values import Number, Value, as_text, number_text, parse_number, to_int32, to_int64

K = TypeVar("K")
T = TypeVar("T")

MAX_DEPTH: Final = 128  # of values that are kept as JSON text; Java's 2048 would not fit Python's stack

_PLAIN_INT: Final = re.compile(rb"""(["']?)([+-]?[0-9]+|[+-])(?![.eEtfn{\[0-9])""")
_SUFFIX: Final = b"LFDBS"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_TRUE_OR_FALSE: Final = re.compile(rb"true|false")
_ONE_LETTER_BOOL: Final = re.compile(rb"""(["'])(.)\1""", re.DOTALL)


class Reader(Cursor):
    """Reads one value after the other, each as the type the caller names."""

    __slots__ = ()

    # -- typed values --------------------------------------------------------------------------------------------

    def bean(self, fields: Mapping[str, Callable[["Reader"], object]]) -> dict[str, object] | None:
        """An object; the result holds the members that are there, each read by its own function."""
        if self._at(b"["):
            raise self.error("an object is expected, not an array")
        if not self._open(b"{") and self._null_or_empty():
            return None
        found: dict[str, object] = {}
        while not self._close(b"}"):
            if self._at(b"/"):
                self._comment()
            if self._at(b"}") or self._data.startswith(b"nu", self._pos):
                break  # Java: readFieldNameHashCode gives -1, the loop ends and the brace is left over
            name = self._bean_name()
            read = fields.get(name)
            if read is None:
                self.skip()
            else:
                found[name] = read(self)
        return found

    def string(self) -> str | None:
        """Text; numbers, booleans, objects and arrays become text, a one-element array of text that element."""
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
        """Java: AtomicLong, for which only a bare null is None."""
        if self._at(b"n"):
            self._null()
            return None
        return self._integer(64)

    def boolean(self) -> bool:
        """true and false, as words or text; 1, "1" and "Y" are true; null and "" are false."""
        ch = self._data[self._pos]
        if match := _TRUE_OR_FALSE.match(self._data, self._pos):
            self._pos = match.end()
            self._after_value()
            return match[0] == b"true"
        if ch in b"-0123456789":
            number = self._number()
            return type(number) is int and number == 1
        if ch == ord("n"):
            self._null()
            return False
        if match := _ONE_LETTER_BOOL.match(self._data, self._pos):
            if match[2] not in (b"0", b"N", b"1", b"Y"):
                raise self.error("a boolean is expected")
            self._pos = match.end()
            self._after_value()
            return match[2] in (b"1", b"Y")
        if ch in QUOTES:
            word = self._quoted().lower()
            if word not in ("true", "false", "", "null"):
                raise self.error("a boolean is expected")
            self._after_value()
            return word == "true"
        if ch == ord("["):
            self._deeper()
            self._next()
            value = self.boolean()
            if not self._at(b"]"):
                raise self.error("a single boolean is expected")
            self._next()
            self._depth -= 1
            return value
        raise self.error("a boolean is expected")

    def enum(self, names: Sequence[str]) -> str | None:
        """One of Java's enum constants, by name (case, `_` and `-` aside) or ordinal; unknown names are None."""
        if self._data[self._pos] in b"+-0123456789":
            ordinal = self.int32()
            if not 0 <= ordinal < len(names):
                raise self.error(f"ordinal {ordinal} is out of range")
            return names[ordinal]
        if self._null_or_empty():
            return None
        if self._data[self._pos] not in QUOTES:
            return None  # Java: nothing is read; whatever stands here must pass for the next member
        single = self._at(b"'")
        name = self._quoted()
        if single and len(name) > 8:
            raise self.error("a long name needs double quotes")  # Java: readValueHashCode looks for no others
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
        """Java: Map<String, String>. An array that holds one such object counts as that object."""
        if not self._open(b"{"):
            if self._at(b"["):
                self._deeper()
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
            # Java: ObjectReaderImplMapString reads on as if the brace had been there.
        found: dict[str, str | None] = {}
        while not self._close(b"}"):
            name = self._member_name()
            value = self.string()
            if name is not None:
                found[name] = value
        self._skip_comma()
        return found

    def map_of(self, value: Callable[["Reader"], T]) -> dict[str, T] | None:
        """Java: Map<String, T>."""
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
        self._skip_comma()
        return found

    def map_by(self, key: Callable[["Reader"], K], value: Callable[["Reader"], T]) -> dict[K, T] | None:
        """Java: Map<K, T> with K a number: bare, quoted or anything else that may be turned into one."""
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
        """Java: List<String>. One text counts as a list of it."""
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
        """Java: List<String> as a bean's member, read by generated code: what is neither list nor text is no list."""
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
        """Java: byte[]. Numbers in brackets; text is refused."""
        if self._null_or_empty():
            return None
        if not self._at(b"["):
            raise self.error("a list of numbers is expected")
        return self.list_of(Reader.int32)

    def list_of(self, item: Callable[["Reader"], T]) -> list[T] | None:
        """Java: List<T> of beans. One object counts as a list of it."""
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

    # -- values that are kept as JSON text -----------------------------------------------------------------------

    def _value(self) -> Value:
        ch = self._data[self._pos]
        if ch in b"+-0123456789":
            return self._number()
        if ch == ord("["):
            return self._array()
        if ch == ord("{"):
            return self._object()
        if ch in QUOTES:
            text = self._quoted()
            self._after_value()
            return text
        if ch in b"tf":
            return self.boolean()
        if ch == ord("n"):
            self._null()
            return None
        raise self.error("a value is expected")

    def _array(self) -> list[Value]:
        self._deeper()
        self._next()
        found: list[Value] = []
        while not self._at(b"]"):
            if self._at(b"/"):
                self._comment()
            else:
                found.append(self._value())
        self._end_of_kept()
        return found

    def _object(self) -> dict[Value, Value]:
        self._deeper()
        self._next()
        found: dict[Value, Value] = {}
        while True:
            if self._at(b"/"):
                self._comment()
            if self._at(b"}"):
                break
            name: Value = self._member_name()
            if name is None:
                name = self._number() if self._data[self._pos] in b"-0123456789" else self._bare_name()
                self._skip(b":")
            found[name] = self._value()
        self._end_of_kept()
        return found

    def _end_of_kept(self) -> None:
        self._next()
        self._comma = self._at(b",")
        if self._comma:
            self._next()
        self._depth -= 1

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels")

    # -- numbers -------------------------------------------------------------------------------------------------

    def _integer(self, bits: int) -> int:
        match = _PLAIN_INT.match(self._data, self._pos)
        if match is not None:
            value = _digits(match[2])
            end = match.end()
            quote = match[1]
            if -(1 << (bits - 1)) <= value < 1 << (bits - 1) and self._data.startswith(quote, end):
                self._pos = end + len(quote)
                if self._data[self._pos] in _SUFFIX:
                    self._pos += 1
                self._after_value()
                return value
        value_or_none = self._coercible()
        try:
            return to_int32(value_or_none) if bits == 32 else to_int64(value_or_none)
        except (ValueError, OverflowError) as why:
            raise self.error(str(why)) from why

    def _number(self) -> Number | None:
        value = self._coercible()
        if value is None or isinstance(value, int | float | Decimal):
            return value
        raise self.error("a number is expected")

    def _coercible(self) -> Value:
        """Java: readNumber0. A number with or without quotes, or whatever may be turned into one."""
        data, pos = self._data, self._pos
        ch = data[pos]
        if ch == ord("["):
            return self._array()
        if ch == ord("{"):
            return self._object()
        quote = data[pos : pos + 1] if ch in QUOTES else b""
        start = pos + len(quote)
        if quote and data.startswith(quote, start):
            self._pos = start + 1
            self._after_value()
            return None
        try:
            value, end = parse_number(data, start)
        except ValueError as why:
            if not quote:
                raise self.error(str(why)) from why
            end = -1
            value = None
        if quote:
            if not data.startswith(quote, end) or end < 0:
                text = self._quoted()
                self._after_value()
                return text
            end += 1
        if data[end] in _SUFFIX and not isinstance(value, bool) and value is not None:
            value = _suffixed(value, data[end])
            end += 1
        self._pos = end
        self._after_value()
        return value


def _digits(text: bytes) -> int:
    # Java reads a sign without digits as 0. More than thirty are left to the slow path, which counts them first.
    if len(text) > 30:
        return 1 << 64
    return int(text) if len(text) > 1 or text.isdigit() else 0


def _suffixed(value: Number, suffix: int) -> Number:
    if suffix in b"FD":
        return float(value)
    if type(value) is int and suffix in b"BS":
        bits = 8 if suffix == ord("B") else 16
        return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return value


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
