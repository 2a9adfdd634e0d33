"""JSON headers as RocketMQ 5.5.0 decodes them. Each row was verified with RemotingCommand.decode, fastjson2 2.0.59."""

import msgspec
import pytest

from routebook.errors import ProtocolError
from routebook.wire.json_header import Header, decode_json_header

ROUTE_REQUEST = (
    b'{"code":105,"extFields":{"topic":"TopicTest"},"flag":0,"language":"JAVA","opaque":1,'
    b'"serializeTypeCurrentRPC":"JSON","version":479}'
)


def fields(data: bytes) -> dict[str, object]:
    """The fields that differ from those of an empty header."""
    header = decode_json_header(data)
    empty = Header()
    return {
        name: getattr(header, name)
        for name in Header.__struct_fields__
        if getattr(header, name) != getattr(empty, name)
    }


def test_a_request_as_java_sends_it() -> None:
    assert fields(ROUTE_REQUEST) == {"code": 105, "ext": {"topic": "TopicTest"}, "opaque": 1, "version": 479}


def test_an_empty_header_has_defaults_and_no_opaque() -> None:
    assert fields(b"{}") == {}
    assert decode_json_header(b"{}").opaque is None
    assert decode_json_header(b"{}").language == "JAVA"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # syntax
        (b"{'code':106}", {"code": 106}),
        (b'{"code":106,}', {"code": 106}),
        (b'{"code":106 "opaque":5}', {"code": 106, "opaque": 5}),
        (b' \r\n\t{ "code" : 106 } \n', {"code": 106}),
        (b'// a comment\n{"code":106}', {"code": 106}),
        (b'{/* a comment */"code":106}', {"code": 106}),
        (b'{"code":1,"code":106}', {"code": 106}),
        (b'{"\\u0063ode":106}', {"code": 106}),
        (b'{"extFields":{"a":"b"},,"code":106}', {"code": 106, "ext": {"a": "b"}}),
        # numbers
        (b'{"code":"106"}', {"code": 106}),
        (b'{"code":+106}', {"code": 106}),
        (b'{"code":0106}', {"code": 106}),
        (b'{"code":106L}', {"code": 106}),
        (b'{"code":' + b"0" * 50 + b"106}", {"code": 106}),
        (b'{"code":106.7}', {"code": 106}),
        (b'{"code":"106.7"}', {"code": 106}),
        (b'{"code":1e2}', {"code": 100}),
        (b'{"code":true}', {"code": 1}),
        (b'{"code":"1,000"}', {"code": 1000}),
        (b'{"code":-2147483648}', {"code": -2147483648}),
        (b'{"code":5000000000.5}', {"code": 705032704}),  # a decimal keeps its low 32 bits
        (b'{"code":5e20}', {"code": 2147483647}),  # a double saturates
        (b'{"code":null,"flag":"","version":"null"}', {}),
        (b'{"opaque":null}', {"opaque": 0}),
        (b'{"opaque":[5]}', {"opaque": 5}),
        (b'{"opaque":["5"]}', {"opaque": 5}),
        (b'{"opaque":{"val":5}}', {"opaque": 5}),
        (b'{"opaque":-7}', {"opaque": -7}),
        # language
        (b'{"language":"GO"}', {"language": "GO"}),
        (b'{"language":"go"}', {"language": "GO"}),
        (b'{"language":"nodejs"}', {"language": "NODE_JS"}),
        (b'{"language":3}', {"language": "PYTHON"}),
        (b'{"language":"3"}', {"language": "PYTHON"}),
        (b'{"language":"KLINGON"}', {"language": None}),
        (b'{"language":null}', {"language": None}),
        # text
        (b'{"remark":"a\nb\tc"}', {"remark": "a\nb\tc"}),
        (b'{"remark":"\\x41\\u00e9\\/\\v"}', {"remark": "Aé/\v"}),
        (b'{"remark":"\\ud83d\\ude00"}', {"remark": "😀"}),
        (b'{"remark":"\\ud83d!"}', {"remark": "?!"}),
        (b'{"remark":5}', {"remark": "5"}),
        (b'{"remark":["a"]}', {"remark": "a"}),
        ('{"remark":"é中😀"}'.encode(), {"remark": "é中😀"}),
        (b'{"remark":"\xd6\xd0"}', {"remark": "\ufffd\ufffd"}),  # GBK: two bytes that pass for a lead and a tail
        # the map
        (b'{"extFields":null}', {}),
        (b'{"extFields":""}', {}),
        (b'{"extFields":{}}', {"ext": {}}),
        (b'{"extFields":[{"a":"b"}]}', {"ext": {"a": "b"}}),
        (b'{"extFields":{"a":5,"b":true,"c":null}}', {"ext": {"a": "5", "b": "true", "c": None}}),
        (
            b'{"extFields":{"a":1e3,"b":-0,"c":1.50,"d":1e-7}}',
            {"ext": {"a": "1000.0", "b": "0", "c": "1.50", "d": "1.0E-7"}},
        ),
        (b'{"extFields":{"a":123456789012345678901234567890}}', {"ext": {"a": "123456789012345678901234567890"}}),
        (b'{"extFields":{"a":[1, null],"b":{"x" : 1.50, "y":null}}}', {"ext": {"a": "[1,null]", "b": '{"x":1.50}'}}),
        (b'{"extFields":{"a":{"b":"\\n\\u0001/\\""}}}', {"ext": {"a": '{"b":"\\n\\u0001/\\""}'}}),
        (b'{"extFields":{"a":{"b":{1:2}}}}', {"ext": {"a": '{"b":{1:2}}'}}),
        # fields that say nothing
        (b'{"serializeTypeCurrentRPC":"nonsense"}', {}),
        (b'{"serializeTypeCurrentRPC":1}', {}),
        (b'{"unknown":{"a":[1,{"b":null}]},"code":106}', {"code": 106}),
        (b'{"unknown":"\xff\xfe","code":106}', {"code": 106}),
        (b'{"CODE":106}', {}),
        (b'{"@type":"java.lang.Runtime","code":106}', {"code": 106}),
        (b'{"body":null,"code":106}', {"code": 106}),
        (b'{"body":[1,2],"code":106}', {"code": 106}),
        (b'{"suspended":true,"code":106}', {"code": 106}),
    ],
)
def test_accepted(data: bytes, expected: dict[str, object]) -> None:
    assert fields(data) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b"5",
        b'""',
        b'{"code":106',
        b'{"code":106}}',
        b'{"code":106}x',
        b'{"code":106/* a comment */}',
        b"{code:106}",
        b'{"code":106,,"flag":1}',
        b'{"code":106;"flag":1}',
        b'{"code" 106}',
        b'\xef\xbb\xbf{"code":106}',
        b'{"code":"abc"}',
        b'{"code":" 106"}',
        b'{"code":0x6a}',
        b'{"code":2147483648}',
        b'{"code":[1,2]}',
        b'{"code":NaN}',
        b'{"code":undefined}',
        b'{"version":"x"}',
        b'{"extFields":[]}',
        b'{"extFields":5}',
        b'{"extFields":"x"}',
        b'{"extFields":{a:"b"}}',
        b'{"extFields":{5:"b"}}',
        b'{"extFields":{null:"b"}}',
        b'{"remark":"\\q"}',
        b'{"remark":"\xff"}',
        b'{"remark":"unfinished}',
        b'{"language":99}',
        b'{"language":-1}',
        b'{"language":"12345678901"}',
        b'{"serializeTypeCurrentRPC":2}',
        b'{"body":5}',
        b'{"body":"AA=="}',
        b'{"suspended":"x"}',
        b'{"unknown":{a:1}}',
        b'{"unknown":[1,]}',
        b'{"unknown":NaN}',
    ],
)
def test_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_json_header(data)


def test_the_error_has_a_position() -> None:
    with pytest.raises(ProtocolError, match="a quoted name is expected at line 2, column 2"):
        decode_json_header(b'{"code":106,\n code:107}')


def test_a_long_header_is_accepted_only_as_plain_json() -> None:
    plain = b'{"code":100,"extFields":{"value":"%b"},"flag":0,"language":"%b","opaque":7,"version":513}'
    loose = plain.replace(b'"code":100', b"'code':100")
    assert decode_json_header(plain % (b"x" * 50_000, b"JAVA")).code == 100
    assert decode_json_header(plain % (b"x" * 50_000, b"NEW")).language is None
    assert decode_json_header(loose % (b"x" * 10_000, b"JAVA")).code == 100
    with pytest.raises(ProtocolError, match="not plain JSON"):
        decode_json_header(loose % (b"x" * 50_000, b"JAVA"))


def test_deep_nesting_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="nested deeper than 128 levels"):
        decode_json_header(b'{"extFields":{"a":' + b"[" * 8_000 + b"]" * 8_000 + b"}}")


def test_skipped_values_may_be_nested_without_limit() -> None:
    assert fields(b'{"x":' + b"[" * 8_000 + b"]" * 8_000 + b',"code":106}') == {"code": 106}


def test_a_number_of_a_million_digits_is_rejected_quickly() -> None:
    with pytest.raises(ProtocolError):
        decode_json_header(b'{"code":' + b"9" * 1_000_000 + b"}")
    with pytest.raises(ProtocolError):
        decode_json_header(b'{"extFields":{"a":' + b"9" * 1_000_000 + b"}}")


def test_headers_are_not_tracked_by_the_garbage_collector() -> None:
    assert isinstance(decode_json_header(ROUTE_REQUEST), msgspec.Struct)
    assert Header.__struct_config__.gc is False
