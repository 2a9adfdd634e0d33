"""Reads unusual JSON headers as fastjson2 does. Imported when the first one arrives."""

from typing import Final

from routebook.codes import LANGUAGES
from routebook.errors import ProtocolError
from routebook.wire.fastjson.cursor import JsonError
from routebook.wire.fastjson.reader import Reader
from routebook.wire.fastjson.typed import MAX_LOOSE_HEADER_BYTES, Fields


def read_header(data: bytes) -> dict[str, object]:
    """The known fields by name. Raises ProtocolError where Java closes the connection, and if the header is long.

    Programs write long headers as plain JSON (a KV value is part of one). Reading others costs a second per megabyte.
    """
    if len(data) > MAX_LOOSE_HEADER_BYTES:
        limit = MAX_LOOSE_HEADER_BYTES
        raise ProtocolError(f"a JSON header of {len(data)} bytes that is not plain JSON (at most {limit})")
    try:
        reader = Reader(data)
        found = reader.bean(_FIELDS)
        reader.finish()
    except JsonError as why:
        raise ProtocolError(f"the JSON header cannot be decoded: {why}") from why
    if found is None:
        raise ProtocolError("the JSON header is null or empty")
    return found


def _language(reader: Reader) -> str | None:
    return reader.enum(LANGUAGES)


def _serialize_type(reader: Reader) -> str | None:
    return reader.enum(("JSON", "ROCKETMQ"))


_FIELDS: Final[Fields] = {
    "body": Reader.byte_array,  # only to reject what Java rejects: the body of the frame is used
    "code": Reader.int32,
    "extFields": Reader.text_map,
    "flag": Reader.int32,
    "language": _language,
    "opaque": Reader.int32,
    "remark": Reader.string,
    "serializeTypeCurrentRPC": _serialize_type,
    "suspended": Reader.boolean,
    "version": Reader.int32,
}
