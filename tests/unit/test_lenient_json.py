import msgspec

from routebook.lenient_json import decode_json, encode_json, from_blob, to_blob


class Named(msgspec.Struct, frozen=True):
    names: dict[int, str]


def test_ordinary_text_is_written_as_utf8() -> None:
    assert encode_json(Named({1: "Ü"})) == '{"names":{"1":"Ü"}}'.encode()


def test_a_lone_surrogate_is_written_as_an_escape_and_read_back() -> None:
    value = Named({1: "a\ud800"})
    assert encode_json(value) == b'{"names":{"1":"a\\ud800"}}'
    assert decode_json(encode_json(value), Named) == value


def test_a_lone_surrogate_survives_a_blob_column() -> None:
    assert from_blob(to_blob("a\ud800")) == "a\ud800"
