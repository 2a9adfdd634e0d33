"""Conversions of fastjson2 2.0.59: numbers and text, escapes, nested values as JSON text."""

import re
from decimal import Decimal
from typing import Final, TypeAlias

from routebook.wire.java_text import decode_utf8

Number: TypeAlias = int | float | Decimal
Value: TypeAlias = "bool | str | Number | list[Value] | dict[Value, Value] | None"

_MAX_EXPONENT: Final = 2047
_MAX_DIGITS: Final = 4000  # Java: no limit; Python's int() accepts 4300 digits
_NUMBER: Final = re.compile(rb"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([eE])([+-]?)([0-9]*))?")
_WORDS: Final = {b"null": None, b"true": True, b"false": False}
_ESCAPE: Final = re.compile(rb"\\(?:u(.{4})|x(..)|(.))", re.DOTALL)
_SHORT_ESCAPES: Final = (
    {str(n): chr(n) for n in range(8)}
    | {"b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "F": "\f", "r": "\r"}
    | {ch: ch for ch in "\"'/.\\#&[]@()_,~ "}
)
_PAIR: Final = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
_LONE: Final = re.compile("[\ud800-\udfff]")
_TO_ESCAPE: Final = re.compile(r'["\\\x00-\x1f]')
_ESCAPED: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def parse_number(data: bytes, pos: int) -> tuple[bool | Number | None, int]:
    """Parse a number, null, true or false at `pos`; also returns its end. Java: with an exponent it is a double."""
    match = _NUMBER.match(data, pos)
    if match is None or match.end() == pos:
        for word, value in _WORDS.items():
            if data.startswith(word, pos):
                return value, pos + len(word)
        raise ValueError("a number is expected")
    sign, whole, fraction, e, exponent_sign, exponent = match.groups()
    if not (whole or fraction or exponent):
        raise ValueError("a number is expected")
    if len(whole) + len(fraction or b"") > _MAX_DIGITS:
        raise ValueError("a number has too many digits")
    text = (sign + (whole or b"0")).decode()
    if fraction is None and e is None:
        return int(text), match.end()
    text += "." + (fraction or b"").decode() if fraction else ""
    power = int(exponent[:9]) if exponent else 0
    if power > _MAX_EXPONENT:
        raise ValueError("a number has too large an exponent")
    if power == 0:
        return Decimal(text) + 0 if Decimal(text) == 0 else Decimal(text), match.end()
    return float(f"{text}e{(exponent_sign or b'').decode()}{power}"), match.end()


def to_int32(value: Value) -> int:
    """Java: JSONReader.getInt32Value."""
    inner = value.get("val") if isinstance(value, dict) else None
    return 0 if isinstance(value, dict) and not _is_number(inner) else _to_int(value, bits=32)


def to_int64(value: Value) -> int:
    """Java: JSONReader.getInt64Value; a list or an object is truncated to 32 bits, too."""
    return _to_int(value, bits=64)


def _to_int(value: Value, *, bits: int) -> int:
    if isinstance(value, str):
        return _int_of_text(value, bits=bits)
    if type(value) is int and not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
        raise ValueError(f"a number is beyond {bits} bits")
    if isinstance(value, list):
        return _int_of_list(value)
    if isinstance(value, dict):
        inner = value.get("val")
        if not _is_number(inner):
            raise ValueError("a number is expected, not an object")
        return _narrow(inner, bits=32)
    return _narrow(value, bits=bits)


def number_text(value: Number | bool) -> str:
    """Java: Number.toString()."""
    if isinstance(value, float):
        return _double_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def as_text(value: Value) -> str:
    """A nested value as fastjson2 writes it: compact, without null members."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return '"' + _TO_ESCAPE.sub(_escape, value) + '"'
    if isinstance(value, list):
        return "[" + ",".join(as_text(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{as_text(k)}:{as_text(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return "null"
    return number_text(value)


def unescape(raw: bytes) -> str:
    """The text of bytes with escapes; a lone surrogate becomes a question mark."""
    parts, begin = list[str](), 0
    for match in _ESCAPE.finditer(raw):
        parts += decode_utf8(raw[begin : match.start()]), _unescaped(match)
        begin = match.end()
    text = "".join((*parts, decode_utf8(raw[begin:])))
    if _LONE.search(text):
        text = _LONE.sub("?", _PAIR.sub(_joined, text))
    return text


def _unescaped(match: re.Match[bytes]) -> str:
    wide, narrow, short = match.groups()
    if short is not None:
        name = short.decode("latin-1")
        if name not in _SHORT_ESCAPES:
            raise ValueError(f"unknown escape \\{name}")
        return _SHORT_ESCAPES[name]
    number = 0
    if wide is not None:
        for byte in wide:  # Java: IOUtils.hexDigit4 takes any bytes for digits
            number = number << 4 | ((byte & 0xF) + (9 if byte & 0x40 else 0)) & 0xF
        return chr(number)
    for byte in narrow:  # Java: other bytes up to `f` are 0, and the table of digits ends there
        if byte > ord("f"):
            raise ValueError(f"an escape needs hexadecimal digits, not {narrow!r}")
        number = number << 4 | (int(chr(byte), 16) if byte in b"0123456789abcdefABCDEF" else 0)
    return chr(number)


def _joined(match: re.Match[str]) -> str:
    return chr(0x10000 + ((ord(match[1]) - 0xD800) << 10) + ord(match[2]) - 0xDC00)


def _escape(match: re.Match[str]) -> str:
    return _ESCAPED.get(match[0]) or f"\\u{ord(match[0]):04x}"


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _narrow(value: Value, *, bits: int) -> int:
    """Java: Number.intValue() or longValue(): doubles saturate, other numbers keep their low bits."""
    half = 1 << (bits - 1)
    if value is None:
        return 0
    if isinstance(value, float):
        if value != value:
            return 0
        return -half if value <= -half else half - 1 if value >= half - 1 else int(value)
    if isinstance(value, int | Decimal):
        return (int(value) + half) % (1 << bits) - half
    raise ValueError("a number is expected")


def _int_of_text(text: str, *, bits: int) -> int:
    # Java: reads a text with a comma before its last three digits like 1,000. This includes any text of three
    # characters that starts with a digit.
    if text.rfind(",") == len(text) - 4 and "." not in text and (match := re.match(r"-?,*[0-9][0-9,]*", text)):
        return _narrow(int(match[0].replace(",", "")), bits=bits)
    return _strict_int(text, bits=bits)


def _int_of_list(items: list[Value]) -> int:
    if len(items) == 1:
        item = items[0]
        if isinstance(item, str):
            return _strict_int(item, bits=32)
        if _is_number(item):
            return _narrow(item, bits=32)
    raise ValueError("a number is expected, not a list")


def _strict_int(text: str, *, bits: int) -> int:
    if re.fullmatch(r"[+-]?[0-9]{1,40}", text, re.ASCII):
        value = int(text)
        if -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            return value
    raise ValueError("a number is expected, not other text")


def _double_text(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = repr(value)
        return text if "e" not in text else format(Decimal(text), "f")
    digits, _, power = f"{Decimal(repr(value)).normalize():E}".partition("E")
    return f"{digits}{'' if '.' in digits else '.0'}E{int(power)}"
