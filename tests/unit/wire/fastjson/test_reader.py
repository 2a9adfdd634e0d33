"""The lenient reader by itself: coercions, cursor, limits. Provenance of the expectations: fastjson2 2.0.59."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from routebook.wire.fastjson.cursor import JsonError
from routebook.wire.fastjson.reader import Reader
from routebook.wire.fastjson.values import as_text, number_text, unescape

CODE = {"code": Reader.int32}


def read(data: bytes, how: Callable[[Reader], object]) -> object:
    reader = Reader(data)
    value = how(reader)
    reader.finish()
    return value


@pytest.mark.parametrize(
    ("data", "how", "expected"),
    [
        (b"9223372036854775807", Reader.int64, 9223372036854775807),
        (b"1e30", Reader.int64, 9223372036854775807),
        (b"[5000000000]", Reader.int64, 705032704),  # Java cuts the element of a list to an int
        (b'{"val":5}', Reader.int64, 5),
        (b"-", Reader.int32, 0),
        (b'"1ab"', Reader.int32, 1),
        (b"null", Reader.int32, 0),
        (b"null", Reader.boxed_int32, None),
        (b'""', Reader.boxed_int64, None),
        (b"null", Reader.atomic_int64, None),
        (b'""', Reader.atomic_int64, 0),
        (b"true", Reader.boolean, True),
        (b'"TRUE"', Reader.boolean, True),
        (b'"Y"', Reader.boolean, True),
        (b'"0"', Reader.boolean, False),
        (b"1", Reader.boolean, True),
        (b"2", Reader.boolean, False),
        (b"-1", Reader.boolean, True),  # Java: compares the magnitude
        (b'{"code\x00\x00":1}', lambda r: r.bean(CODE), {"code": 1}),  # Java: names of up to 8 characters are numbers
        (b'{"code\\u0000":1}', lambda r: r.bean(CODE), {"code": 1}),
        (b'{"x":Set[1,{"a":2}],"code":1}', lambda r: r.bean(CODE), {"code": 1}),
        (b'{"code":"",\x00"x":1}', lambda r: r.bean(CODE), {"code": 0}),
        (b'{"x":"1"\x89,"code":1}', lambda r: r.bean(CODE), {"code": 1}),  # Java: 0x89 & 63 is a tab
        (b'{"x\xef\xbf\xbd":2,"code":1}', lambda r: r.bean(CODE), {"code": 1}),
        (
            b'{"y":{"x":1}\xf0\x9d,"code":1}',
            lambda r: r.bean({**CODE, "y": Reader.text_map}),
            {"y": {"x": "1"}, "code": 1},
        ),
        (b'"J\xf0\x9d\x84\x9e"', lambda r: r.enum(("JAVA",)), None),
        (b"{\\n:1}", Reader.string, '{"\\n":1}'),
        (b"null", Reader.boolean, False),
        (b"[true]", Reader.boolean, True),
        (b'["a",5,null]', Reader.strings, ["a", "5", None]),
        (b'"a"', Reader.strings, ["a"]),
        (b'""', Reader.strings, []),
        (b"null", Reader.strings, None),
        (b'{"a":5}', lambda r: r.map_of(Reader.int32), {"a": 5}),
        (b"{5:6}", lambda r: r.map_of(Reader.int32), {"5": 6}),
        (b'{0:1, -2 : 3,"4":"5",}', lambda r: r.map_by(Reader.boxed_int32, Reader.boxed_int32), {0: 1, -2: 3, 4: 5}),
        (b'[{"a":1}{"a":2}]', lambda r: r.list_of(lambda i: i.bean({"a": Reader.int32})), [{"a": 1}, {"a": 2}]),
        (b'{"a":1}', lambda r: r.list_of(lambda i: i.bean({"a": Reader.int32})), [{"a": 1}]),
        (b'"one" ', lambda r: r.enum(("ONE", "TWO")), "ONE"),
        (b"1", lambda r: r.enum(("ONE", "TWO")), "TWO"),
    ],
)
def test_typed_reading(data: bytes, how: Callable[[Reader], object], expected: object) -> None:
    assert read(data, how) == expected


@pytest.mark.parametrize(
    ("data", "how"),
    [
        (b"9223372036854775808", Reader.int64),
        (b'"x"', Reader.int64),
        (b"{}", Reader.int64),
        (b'"2"', Reader.boolean),
        (b"[true,false]", Reader.boolean),
        (b"5", Reader.strings),
        (b"[1,2", Reader.strings),
        (b"5", lambda r: r.map_of(Reader.int32)),
        (b"{a:1}", lambda r: r.map_by(Reader.boxed_int32, Reader.boxed_int32)),
        (b"[]", lambda r: r.bean({})),
        (b"2", lambda r: r.enum(("ONE", "TWO"))),
        (b"1 2", Reader.int32),
        (b"/ 1", Reader.int32),
        (b'{"a":1,}', Reader.skip),
        (b'{"a":1 "b":2}', Reader.skip),
        (b'"\\q"', Reader.skip),
        (b'{"x\xf0\x9d\x84\x9e":2,"code":1}', lambda r: r.bean(CODE)),
        (b'{"x\xc5y":2,"code":1}', lambda r: r.bean(CODE)),
        (b'{"x":{0:0},"code":1}', lambda r: r.bean(CODE)),
        (b'{"code":1}\xf3', lambda r: r.bean(CODE)),
        (b'{"code":\x8a1}', lambda r: r.bean(CODE)),
        (b'"JA\xd3A"', lambda r: r.enum(("JAVA",))),
        (b"{null:1}", lambda r: r.map_of(Reader.int32, concurrent=True)),
    ],
)
def test_refused(data: bytes, how: Callable[[Reader], object]) -> None:
    with pytest.raises(JsonError):
        read(data, how)


def test_an_error_has_a_line_and_a_column() -> None:
    with pytest.raises(JsonError) as caught:
        read(b'{\n  "a": 1,\n  b: 2\n}', lambda r: r.bean({}))
    assert (caught.value.line, caught.value.column) == (3, 3)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (5, "5"),
        (1000.0, "1000.0"),
        (1e7, "1.0E7"),
        (1.5e-5, "1.5E-5"),
        (0.001, "0.001"),
        (float("inf"), "Infinity"),
        (Decimal("1.50"), "1.50"),
        (Decimal("0.0000001"), "1E-7"),
    ],
)
def test_numbers_as_java_prints_them(number: float | Decimal, text: str) -> None:
    assert number_text(number) == text


def test_nested_values_become_compact_text() -> None:
    assert as_text({"a": [1, None, True, "x\n\x01é"], "b": None, 1: {}}) == '{"a":[1,null,true,"x\\n\\u0001é"],1:{}}'


def test_escapes() -> None:
    assert unescape(rb"\x41\u0042\7\'\"\~\F") == "AB\x07'\"~\f"
    assert unescape(rb"\uu00e\x4Gx") == "\ue00e@x"  # Java: any bytes are digits of \u, and other bytes are 0 after \x
    with pytest.raises(ValueError, match="hexadecimal"):
        unescape(rb"\xzz")
