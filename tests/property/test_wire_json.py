"""Any bytes give a value or an error, and the strict fast path never differs from the lenient reader."""

import json
import zlib
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from routebook.errors import BadRequest, ProtocolError
from routebook.wire.json_header import decode_json_header
from routebook.wire.register_body import decode_register_body
from routebook.wire.request_bodies import decode_data_version, decode_kv_table, decode_topic_route

NOW = 1_800_000_000_000


def register(body: bytes) -> object:
    return decode_register_body(body, version=513, compressed=False, now_ms=NOW)


def register_old(body: bytes) -> object:
    return decode_register_body(body, version=36, compressed=False, now_ms=NOW)


def register_deflated(body: bytes) -> object:
    return decode_register_body(zlib.compress(body), version=513, compressed=True, now_ms=NOW)


def data_version(body: bytes) -> object:
    return decode_data_version(body, now_ms=NOW)


Decoder = Callable[[bytes], object]
DECODERS: tuple[Decoder, ...] = (
    decode_json_header,
    register,
    register_old,
    register_deflated,
    data_version,
    decode_topic_route,
    decode_kv_table,
)


def outcome(decode: Decoder, data: bytes) -> object:
    """The value, or which of the two allowed errors; anything else fails the test that asked."""
    try:
        value = decode(data)
    except (ProtocolError, BadRequest) as why:
        return type(why)
    # A header read the fast way is of a subclass that compares unequal; its fields are what counts.
    return [getattr(value, name) for name in _HEADER_FIELDS] if decode is decode_json_header else value


_HEADER_FIELDS = ("code", "flag", "language", "opaque", "remark", "version", "ext")

NAMES = """
    code extFields flag language opaque remark version serializeTypeCurrentRPC body suspended filterServerList
    topicConfigSerializeWrapper topicConfigTable dataVersion mappingDataVersion topicQueueMappingInfoMap
    topicQueueMappingDetailMap hostedQueues counter stateVersion timestamp topicName perm readQueueNums order
    attributes topicFilterType topicSysFlag writeQueueNums bname currIdMap dirty epoch scope topic totalQueues
    queueDatas brokerDatas brokerName brokerAddrs configTable
""".split()  # noqa: SIM905 - a list of fifty quoted words is harder to read
SIGNS = rb"""
    { } [ ] , : " ' null true false NaN "" '' 0 -0 +1 - 1.5 1e3 106L 2147483648 99999999999999999999 "5" "x"
    \\ \n \u0041 \x41 \q \ud800 // /**/ / {} [] [5] {"val":5} L . e
""".split()
BYTES = [b" ", b"\n", b"\x00", b"\x1a", b"\xff", b"\xc3", b"\xc3\xa9", b"\xf0\x9f\x98\x80", b"\xef\xbb\xbf"]
TOKENS = [*SIGNS, *BYTES, *(b'"' + name.encode() + b'":' for name in NAMES)]

# Beyond three bytes a character, and with "$ref", Java gives members a special meaning that is never used.
_text = st.text(st.characters(codec="utf-8", max_codepoint=0xFFFF, exclude_characters="$\0"), max_size=6)
_leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.integers(-9, 9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _text
    | st.sampled_from(["", "null", "5", "1.5", "JAVA", "SINGLE_TAG", "true"])
)
_names = st.sampled_from(NAMES) | _text | st.integers(-99, 99).map(str)
_values = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=6), max_leaves=20
)


def _shaped(**members: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """An object with some of these members, most of them of the right type, and a stranger now and then."""
    proper = st.fixed_dictionaries({}, optional=members)
    return st.builds(lambda known, other: {**other, **known}, proper, st.dictionaries(_names, _values, max_size=1))


_number = st.integers(-9, 1 << 33) | _leaves
_version = _shaped(counter=_number, stateVersion=_number, timestamp=_number)
_topic = _shaped(topicName=_text, perm=_number, readQueueNums=_number, attributes=_values, order=st.booleans())
_mapping = _shaped(
    topic=_text,
    bname=_text,
    currIdMap=st.dictionaries(st.integers(-9, 99).map(str), _number, max_size=3),
    epoch=_number,
)
_wrapper = _shaped(
    dataVersion=_version,
    topicConfigTable=st.dictionaries(_text, _topic, max_size=3),
    topicQueueMappingInfoMap=st.dictionaries(_text, _mapping, max_size=2),
    topicQueueMappingDetailMap=st.dictionaries(_text, _mapping, max_size=1),
)
_documents = st.one_of(
    _values,
    _version,
    _wrapper,
    _shaped(topicConfigSerializeWrapper=_wrapper, filterServerList=st.lists(_text, max_size=2) | _values),
    _shaped(code=_number, opaque=_number, flag=_number, language=_leaves, extFields=_values, remark=_leaves),
    _shaped(queueDatas=st.lists(_shaped(brokerName=_text, perm=_number), max_size=2), brokerDatas=_values),
    _shaped(configTable=st.dictionaries(_text, st.dictionaries(_text, _leaves, max_size=2), max_size=2)),
)


@given(st.sampled_from(DECODERS), st.binary(max_size=80))
def test_any_bytes(decode: Decoder, data: bytes) -> None:
    outcome(decode, data)


@given(st.sampled_from(DECODERS), st.lists(st.sampled_from(TOKENS), max_size=25))
def test_any_tokens(decode: Decoder, tokens: list[bytes]) -> None:
    outcome(decode, b"{" + b"".join(tokens) + b"}")


@given(st.sampled_from(DECODERS), _documents, st.booleans())
def test_fast_path_and_lenient_reader_agree(decode: Decoder, document: object, ascii_only: bool) -> None:
    """A comment in front makes JSON that no strict decoder takes, and changes nothing for the lenient reader."""
    data = json.dumps(document, ensure_ascii=ascii_only, separators=(",", ":")).encode()
    assert outcome(decode, data) == outcome(decode, b"//\n" + data)


@given(_mapping, st.data())
def test_unquoted_keys_equal_quoted_ones(mapping: object, data: st.DataObject) -> None:
    keys = data.draw(st.dictionaries(st.integers(-99, 99), st.integers(-99, 99), min_size=1, max_size=5))
    bare = ",".join(f"{key}:{value}" for key, value in keys.items())
    quoted = ",".join(f'"{key}":{value}' for key, value in keys.items())
    shell = '{"topicConfigSerializeWrapper":{"topicQueueMappingInfoMap":{"a":{"currIdMap":{%s}},"b":%s}}}'
    rest = json.dumps(mapping)
    assert outcome(register, (shell % (bare, rest)).encode()) == outcome(register, (shell % (quoted, rest)).encode())
