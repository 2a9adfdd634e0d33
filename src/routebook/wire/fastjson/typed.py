"""Decodes JSON into structs: strictly first, and what fails with the reader that is as lenient as fastjson2."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, TypeVar

import msgspec

from routebook.errors import BadRequest, TooMuch

if TYPE_CHECKING:
    from routebook.wire.fastjson.reader import Reader

T = TypeVar("T")

Int32 = Annotated[int, msgspec.Meta(ge=-(1 << 31), le=(1 << 31) - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Fields: TypeAlias = "Mapping[str, Callable[[Reader], object]]"
MAX_LOOSE_BYTES: Final = 64 << 10  # Java has no limit; reading such a text costs a microsecond per byte
MAX_LOOSE_HEADER_BYTES: Final = 16 << 10
_FOUR_BYTES: Final = re.compile(rb"[\xf0-\xf7]")
STRICT_FAILURES: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def decode_strictly(body: bytes, decode: Callable[[bytes], T]) -> T:
    """Decode strict JSON in valid UTF-8, or raise one of STRICT_FAILURES.

    Java reads names with a NUL or a character of four bytes differently, so that short texts with one are not strict.
    """
    if not body.isascii():
        body.decode()  # the strict decoder does not validate skipped text
        if len(body) <= MAX_LOOSE_BYTES and _FOUR_BYTES.search(body):
            raise msgspec.ValidationError("a character beyond the basic plane")
    if len(body) <= MAX_LOOSE_BYTES and b"\\u0000" in body:
        raise msgspec.ValidationError("an escaped NUL")
    return decode(body)


def decode_bean(
    body: bytes,
    decode: Callable[[bytes], T | None],
    fields: Fields,
    kind: type[T],
    *,
    what: str,
    subject: str = "the body",
    max_loose: int = MAX_LOOSE_BYTES,
) -> T | None:
    """Decode an object: with `decode` if it is strict JSON, else as fastjson2 does. None if it is null.

    Raises TooMuch if it is not strict JSON and has more than `max_loose` bytes.
    """
    try:
        return decode_strictly(body, decode)
    except STRICT_FAILURES:
        if len(body) > max_loose:
            remark = f"{subject} is not plain JSON; beyond {max_loose} bytes only plain JSON is accepted"
            raise TooMuch(remark, limit="loose_json") from None
        return read_bean(body, fields, kind, what=what, subject=subject)


def read_bean(body: bytes, fields: Fields, kind: type[T], *, what: str, subject: str = "the body") -> T | None:
    """Decode an object as fastjson2 does."""
    from routebook.wire.fastjson.cursor import JsonError  # noqa: PLC0415
    from routebook.wire.fastjson.reader import Reader  # noqa: PLC0415 - not needed for encoding

    try:
        reader = Reader(body)
        found = reader.bean(fields)
        reader.finish()
    except JsonError as why:
        raise BadRequest(f"{subject} is not {what}: {why}") from why
    return None if found is None else msgspec.convert(found, kind)
