"""A JSON header that is no plain one, read as fastjson2 reads it. Loaded by the first that arrives: most never do."""

from typing import Final

from routebook.codes import LANGUAGES
from routebook.errors import ProtocolError
from routebook.wire.fastjson.cursor import JsonError
from routebook.wire.fastjson.reader import Reader
from routebook.wire.fastjson.typed import Fields

_MOST_BYTES: Final = 1 << 20


def read_header(data: bytes) -> dict[str, object]:
    """The fields that Java knows, by their names; raises ProtocolError where Java closes the connection.

    And where it is very long: no program writes such a header, and whoever sends one makes everybody wait a second a
    megabyte, before it is even known who that is.
    """
    if len(data) > _MOST_BYTES:
        raise ProtocolError(f"a JSON header of {len(data)} bytes that is no plain JSON (at most {_MOST_BYTES})")
    try:
        reader = Reader(data)
        found = reader.bean(_FIELDS)
        reader.finish()
    except JsonError as why:
        raise ProtocolError(f"the JSON header cannot be read: {why}") from why
    if found is None:
        raise ProtocolError("the JSON header is null or empty")
    return found


def _language(reader: Reader) -> str | None:
    return reader.enum(LANGUAGES)


def _serialize_type(reader: Reader) -> str | None:
    return reader.enum(("JSON", "ROCKETMQ"))


_FIELDS: Final[Fields] = {
    "body": Reader.byte_array,  # only to refuse what Java refuses: the frame's body wins
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
