"""JSON as fastjson2 2.0.59 reads it when told which type to expect: RocketMQ 5.5.0's idea of what is well-formed.

A `Reader` is a cursor over bytes. Each method reads one value of one type where the cursor stands, coerces it as
fastjson2 does, and moves on past blanks and one comma. What follows from that design is kept, because peers rely
on it: a missing comma between members goes unnoticed, a trailing one too, quotes may be single, numbers may be text.

    bean(fields)      an object with known members; unknown ones are skipped
    int32 int64 boolean string enum(names)
    text_map          Map<String, String>: every value becomes text
    map_of(value)     Map<String, T>
    int_map           Map<Integer, Integer>: keys may be bare numbers
    strings           List<String>
    list_of(item)     List<T>
    skip              anything
"""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final, TypeVar

from routebook.wire.fastjson_values import (
    Number,
    Value,
    as_text,
    number_text,
    parse_number,
    to_int32,
    to_int64,
    unescape,
)

T = TypeVar("T")

MAX_DEPTH: Final = 128  # of values that are kept as JSON text; Java's 2048 would not fit Python's stack

_END: Final = 0x1A  # stands after the last byte, as in Java
_BLANK: Final = rb" \t\n\r\f\x08"
_BLANKS: Final = re.compile(rb"[" + _BLANK + rb"]*")
_BLANKS_AND_NULS: Final = re.compile(rb"[" + _BLANK + rb"\x00]*")
_AFTER_VALUE: Final = re.compile(rb"[" + _BLANK + rb"]*(?:(,)[" + _BLANK + rb"]*)?")
_COLON: Final = re.compile(rb"[" + _BLANK + rb"]*:[" + _BLANK + rb"]*")
_NULL_OR_EMPTY: Final = re.compile(rb"""null|""|''|"null"|'null'""")

# Text is walked by its lead bytes: broken UTF-8 can swallow the closing quote, exactly as in Java.
_WALK: Final = rb"\\(?:u.{4}|x..|[^ux])|[\xc0-\xdf].|[\xe0-\xef]..|[\xf0-\xf7]..."
_TEXT: Final = {
    ord('"'): re.compile(rb'"((?:[^"\\\x80-\xff]++|' + _WALK + rb')*+)"', re.DOTALL),
    ord("'"): re.compile(rb"'((?:[^'\\\x80-\xff]++|" + _WALK + rb")*+)'", re.DOTALL),
}
# What is skipped is not decoded: any bytes up to the quote, but escapes must be known ones.
_SKIPPED_ESCAPE: Final = rb"""\\(?:u.{4}|x..|[0-7btnvfFr"'/.\\#&\[\]@()_,~ ])"""
_SKIPPED_TEXT: Final = {
    ord('"'): re.compile(rb'"[^"\\]*+(?:' + _SKIPPED_ESCAPE + rb'[^"\\]*+)*+"', re.DOTALL),
    ord("'"): re.compile(rb"'[^'\\]*+(?:" + _SKIPPED_ESCAPE + rb"[^'\\]*+)*+'", re.DOTALL),
}
_SKIPPED_WORD: Final = re.compile(
    rb"true|false|null|[+-]?(?:[0-9]+[LFDBS]|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]*)(?:[eE](?:[+-]?[0-9]+)?)?[FD]?)"
)

_PLAIN_INT: Final = re.compile(rb"""(["']?)([+-]?[0-9]+|[+-])(?![.eEtfn{\[0-9])""")
_SUFFIX: Final = b"LFDBS"
_TRUE_OR_FALSE: Final = re.compile(rb"true|false")
_ONE_LETTER_BOOL: Final = re.compile(rb"""(["'])(.)\1""", re.DOTALL)


class JsonError(ValueError):
    """This text is not what fastjson2 would read as the wanted type."""

    def __init__(self, what: str, *, data: bytes, pos: int) -> None:
        before = data[:pos]
        self.line = before.count(b"\n") + 1
        self.column = pos - (before.rfind(b"\n") + 1) + 1
        super().__init__(f"{what} at line {self.line}, column {self.column}")


class Reader:
    """A cursor over JSON text. `comma` tells whether the value just read was followed by one."""

    __slots__ = ("_comma", "_data", "_depth", "_pos")

    def __init__(self, data: bytes) -> None:
        self._data = data + b"\x1a"
        self._pos = -1
        self._comma = False
        self._depth = 0
        self._next()

    def error(self, what: str) -> JsonError:
        return JsonError(what, data=self._data[:-1], pos=min(self._pos, len(self._data) - 1))

    def finish(self) -> None:
        """Nothing may follow the value."""
        if self._data[self._pos] != _END:
            raise self.error("something follows the value")

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
            name = self._member_name()
            if name is None:
                raise self.error("a quoted name is expected")
            read = fields.get(name)
            if read is None:
                self.skip()
            else:
                found[name] = read(self)
        return found

    def string(self) -> str | None:
        """Text; numbers, booleans, objects and arrays become text, a one-element array of text that element."""
        ch = self._data[self._pos]
        if ch in _TEXT:
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

    def int32_or_none(self) -> int | None:
        return None if self._null_or_empty() else self._integer(32)

    def int64_or_none(self) -> int | None:
        """Java: AtomicLong. Only a bare null is None."""
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
        if ch in _TEXT:
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
        if self._data[self._pos] not in _TEXT:
            raise self.error("a name is expected")
        name = self._quoted()
        self._after_value()
        if name in names:
            return name
        folded = _fold(name)
        for candidate in names:
            if _fold(candidate) == folded:
                return candidate
        if re.fullmatch(r"[+-]?[0-9]{1,9}", name) and 0 <= int(name) < len(names):
            return names[int(name)]
        return None

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
            raise self.error("an object is expected")
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

    def int_map(self) -> dict[int, int] | None:
        """Java: ConcurrentMap<Integer, Integer>."""
        if not self._open(b"{"):
            if self._null_or_empty():
                return None
            raise self.error("an object is expected")
        found: dict[int, int] = {}
        while not self._close(b"}") and not self._at(b"\x1a"):
            key = self.int32_or_none()
            self._skip(b":")
            item = self.int32_or_none()
            if key is None or item is None:
                raise self.error("a number is expected, not null")
            found[key] = item
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
            self._skip_comma()
        self._skip_comma()
        return found

    def skip(self) -> None:
        """Any value, to any depth. Stricter than reading: every comma must be there, and none too many."""
        data = self._data
        closers = bytearray()
        while True:
            ch = data[self._pos]
            if ch in b"{[":
                closers.append(ord("}") if ch == ord("{") else ord("]"))
                self._next()
                first = True
            else:
                pattern = _SKIPPED_TEXT.get(ch, _SKIPPED_WORD)
                match = pattern.match(data, self._pos)
                if match is None:
                    raise self.error("a value is expected")
                self._pos = match.end()
                self._after_skipped()
                first = False
            while closers and data[self._pos] == closers[-1]:
                closers.pop()
                self._pos += 1
                self._after_skipped()
                first = False
            if not closers:
                return
            if not first and not self._comma:
                raise self.error("a comma is expected")
            if closers[-1] == ord("}"):
                self._skip_name()

    # -- values that are kept as JSON text -----------------------------------------------------------------------

    def _value(self) -> Value:
        ch = self._data[self._pos]
        if ch in b"+-0123456789":
            return self._number()
        if ch == ord("["):
            return self._array()
        if ch == ord("{"):
            return self._object()
        if ch in _TEXT:
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
                if self._data[self._pos] not in b"-0123456789":
                    raise self.error("a quoted name is expected")
                name = self._number()
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
        quote = data[pos : pos + 1] if ch in _TEXT else b""
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

    # -- steps of the cursor -------------------------------------------------------------------------------------

    def _at(self, ch: bytes) -> bool:
        return self._data.startswith(ch, self._pos)

    def _blanks(self, pattern: re.Pattern[bytes] = _BLANKS) -> None:
        match = pattern.match(self._data, self._pos)
        if match is not None:
            self._pos = match.end()

    def _next(self) -> None:
        """Past this character, blanks and comments."""
        if self._pos < len(self._data) - 1:
            self._pos += 1
        self._blanks(_BLANKS_AND_NULS)
        if self._at(b"/"):
            self._comment()

    def _comment(self) -> None:
        while self._at(b"/"):
            closing = {b"/*": b"*/", b"//": b"\n"}.get(self._data[self._pos : self._pos + 2])
            if closing is None or self._pos + 2 >= len(self._data) - 1:
                raise self.error("a comment is expected")
            end = self._data.find(closing, self._pos + 2)
            self._pos = end + len(closing) if end >= 0 else len(self._data) - 1
            self._blanks()

    def _open(self, bracket: bytes) -> bool:
        if not self._at(bracket):
            return False
        self._next()
        return True

    def _close(self, bracket: bytes) -> bool:
        if not self._at(bracket):
            return False
        self._pos += 1
        self._blanks(_BLANKS_AND_NULS)
        if self._at(b","):
            self._comma = True
            self._pos += 1
            self._blanks(_BLANKS_AND_NULS)
        if self._at(b"/"):
            self._comment()
        return True

    def _skip(self, ch: bytes) -> bool:
        self._blanks()
        if not self._at(ch):
            return False
        self._next()
        return True

    def _skip_comma(self) -> None:
        self._skip(b",")

    def _after_value(self) -> None:
        match = _AFTER_VALUE.match(self._data, self._pos)
        if match is not None:
            self._pos = match.end()
            self._comma = match[1] is not None

    def _after_skipped(self) -> None:
        self._after_value()
        if (self._data[self._pos] in b"}]\x1a") == self._comma:
            raise self.error("a comma too few or too many")

    def _null(self) -> None:
        if not self._at(b"null"):
            raise self.error("null is expected")
        self._pos += 4
        self._after_value()

    def _null_or_empty(self) -> bool:
        match = _NULL_OR_EMPTY.match(self._data, self._pos)
        if match is None:
            return False
        self._pos = match.end()
        self._after_value()
        return True

    def _quoted(self) -> str:
        match = _TEXT[self._data[self._pos]].match(self._data, self._pos)
        if match is None:
            raise self.error("a text does not end, or is not UTF-8")
        raw = match[1]
        text = raw.decode("utf-8", "replace")
        if b"\\" in raw:
            try:
                text = unescape(text)
            except ValueError as why:
                raise self.error(str(why)) from why
        self._pos = match.end()
        return text

    def _member_name(self) -> str | None:
        """A quoted name and its colon; None if there is no quote."""
        if self._data[self._pos] not in _TEXT:
            return None
        name = self._quoted()
        self._colon()
        return name

    def _skip_name(self) -> None:
        pattern = _SKIPPED_TEXT.get(self._data[self._pos])
        match = None if pattern is None else pattern.match(self._data, self._pos)
        if match is None:
            raise self.error("a quoted name is expected")
        self._pos = match.end()
        self._colon()

    def _colon(self) -> None:
        match = _COLON.match(self._data, self._pos)
        if match is None:
            raise self.error("a colon is expected")
        self._pos = match.end()


def _digits(text: bytes) -> int:
    # Java reads a sign without digits as 0. Thirty digits are beyond any type: no need to read thousands.
    return int(text[:32]) if len(text) > 1 or text.isdigit() else 0


def _suffixed(value: Number, suffix: int) -> Number:
    if suffix in b"FD":
        return float(value)
    if type(value) is int and suffix in b"BS":
        bits = 8 if suffix == ord("B") else 16
        return (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))
    return value


def _fold(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "").replace(" ", "")
