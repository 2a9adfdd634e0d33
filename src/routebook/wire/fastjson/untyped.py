"""Untyped JSON values as fastjson2 reads them: booleans, numbers, and values that are converted to JSON text."""

import re
from decimal import Decimal
from typing import Final

from routebook.wire.fastjson.cursor import QUOTES, Cursor
from routebook.wire.fastjson.values import Number, Value, parse_number, to_int32, to_int64

MAX_DEPTH: Final = 128  # of values that are converted to JSON text; Java's 2048 would overflow Python's stack

_PLAIN_INT: Final = re.compile(rb"""(["']?)([+-]?[0-9]+|[+-])(?![.eEtfn{\[0-9])""")
_SUFFIX: Final = b"LFDBS"
_TRUE_OR_FALSE: Final = re.compile(rb"true|false")
_ONE_LETTER_BOOL: Final = re.compile(rb"""(["'])(.)\1""", re.DOTALL)


class UntypedReader(Cursor):
    """Reads values whose type the text itself decides."""

    __slots__ = ()

    def boolean(self) -> bool:
        """true and false, as words or text; 1, "1" and "Y" are true; null and "" are false."""
        ch = self._data[self._pos]
        if match := _TRUE_OR_FALSE.match(self._data, self._pos):
            self._pos = match.end()
            self._after_value()
            return match[0] == b"true"
        if ch in b"-0123456789":
            number = self._number()
            return type(number) is int and abs(number) == 1  # Java: ignores the sign
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
            self._enter()
            self._next()
            value = self.boolean()
            if not self._at(b"]"):
                raise self.error("a single boolean is expected")
            self._next()
            self._depth -= 1
            return value
        raise self.error("a boolean is expected")

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
        self._enter()
        self._next()
        found: list[Value] = []
        while not self._at(b"]"):
            if self._at(b"/"):
                self._comment()
            else:
                found.append(self._value())
        self._end_container()
        return found

    def _object(self) -> dict[Value, Value]:
        self._enter()
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
        self._end_container()
        return found

    def _end_container(self) -> None:
        self._next()
        self._comma = self._at(b",")
        if self._comma:
            self._next()
        self._depth -= 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(f"nested deeper than {MAX_DEPTH} levels")

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
        """Java: readNumber0. A number with or without quotes, or a value that can be converted to one."""
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
            self._comma = self._skip(b",")
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
    # Java: a sign without digits is 0. More than thirty digits take the slow path, which counts them first.
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
