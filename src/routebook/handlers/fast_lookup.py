"""Fast path for repeated look-ups: recognises a frame by its bytes and answers from the route cache without decoding.

    length, header word, {"code":105,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":  4711  ,"serialize…}
    └──────────────────────────── prefix: the key ────────────────────────────────────────────────┘ digits └─ suffix ─┘

A client asks for the same few topics throughout its life, and only the opaque changes. A frame that is not recognised,
or whose cached route is stale, takes the normal path.
"""

from struct import Struct
from typing import Final, TypeAlias

import msgspec

from routebook.bounded_cache import BoundedCache
from routebook.codes import FLAG_ONEWAY, FLAG_RESPONSE
from routebook.handlers.lookup import cache_key
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import Caller
from routebook.rollup import LookupRow
from routebook.wire.codec import success_header_parts
from routebook.wire.command import Command
from routebook.wire.json_header import is_plain_header

Pieces: TypeAlias = tuple[bytes, bytes, bytes, bytes]  # of one answer, to be sent one after the other

_OPAQUE: Final = b'"opaque":'
_OPAQUE_SIZE: Final = len(_OPAQUE)
_MAX_BYTES: Final = 512  # of the prefix and of the suffix: peers choose both
_MAX_DIGITS: Final = 9
_WORDS: Final = Struct(">ii")
_BEFORE, _AFTER = success_header_parts()


class _KnownLookup(msgspec.Struct, gc=False):
    """A look-up without its opaque, and the beginning of its answer for bodies of one size."""

    frame_size: int
    digits: int
    suffix: bytes
    key: tuple[str, bool]  # in the route cache
    language: str | None
    version: int
    rows: dict[str, LookupRow]  # by host: where look-ups are counted
    head: bytes = b""
    head_size: int = -1

    def set_head(self, size: int) -> None:
        header = len(_BEFORE) + self.digits + len(_AFTER)
        self.head = _WORDS.pack(4 + header + size, header) + _BEFORE
        self.head_size = size


class FastLookup:
    """The known look-ups of one server, shared by all its connections."""

    __slots__ = ("_known", "_nameserver", "_suffixes")

    def __init__(self, nameserver: NameServer, *, max_entries: int = 16_384) -> None:
        self._nameserver = nameserver
        self._known = BoundedCache[bytes, _KnownLookup](max_entries=max_entries)
        self._suffixes: dict[bytes, bytes] = {}  # clients share a few: keep one object of each

    def __len__(self) -> int:
        return len(self._known)

    def answer_one(self, caller: Caller, data: bytes) -> Pieces | None:
        """The answer if the data is exactly one known look-up, as nearly every read is."""
        found = self._answer_at(caller, data, 0, self._nameserver.revision(), len(data))
        return None if found is None else found[1]

    def answer(
        self, caller: Caller, data: bytes, at: int, answers: list[bytes], *, max_bytes: int
    ) -> tuple[int, int, int]:
        """Answer known look-ups from `at` on, up to the first other frame or the answer that exceeds `max_bytes`.

        Returns where the last one ends, their number and the size of the bodies.
        """
        revision = self._nameserver.revision()
        end, before, size = len(data), len(answers), 0
        while at < end and size < max_bytes:
            found = self._answer_at(caller, data, at, revision)
            if found is None:
                break
            at, pieces = found
            answers += pieces
            size += len(pieces[3])
        return at, (len(answers) - before) // 4, size

    def _answer_at(
        self, caller: Caller, data: bytes, at: int, revision: int, size: int = 0
    ) -> tuple[int, Pieces] | None:
        """Match one known look-up whose cached route is fresh, and count it. Returns its end and its answer.

        With `size` its frame has to have that size.
        """
        digits_at = data.find(_OPAQUE, at, at + _MAX_BYTES) + _OPAQUE_SIZE
        known = self._known.get(data[at:digits_at])
        if known is None or (size and known.frame_size != size):
            return None
        suffix_at = digits_at + known.digits
        digits = data[digits_at:suffix_at]
        if not digits.isdigit() or digits < b"1" or not data.startswith(known.suffix, suffix_at):
            return None
        body = self._nameserver.cache.fresh(known.key, revision)
        if body is None:
            return None
        row = known.rows.get(caller.host) or _row(self._nameserver, caller, known)
        size = len(body)
        if known.head_size != size:
            known.set_head(size)
        row[0] += 1
        row[2] += size
        return at + known.frame_size, (known.head, digits, _AFTER, body)

    def learn(self, command: Command, data: bytes, at: int) -> None:
        """Remember a look-up that begins at `at` and was answered, if its frame is plain JSON."""
        if not self._known.has_room():
            return
        if not self._known:
            self._suffixes.clear()
        key = cache_key(command)
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        digits_at = data.find(_OPAQUE, at, min(end, at + _MAX_BYTES)) + _OPAQUE_SIZE
        digits = b"%d" % command.opaque
        suffix_at = digits_at + len(digits)
        if (
            key is None
            or command.flag & (FLAG_ONEWAY | FLAG_RESPONSE)
            or not 0 < command.opaque < 10**_MAX_DIGITS
            or end - suffix_at > _MAX_BYTES
            or data[at + 4 : at + 8] != (end - at - 8).to_bytes(4, "big")  # JSON, without a body
            or data[digits_at:suffix_at] != digits
            or not is_plain_header(data[at + 8 : end])
        ):
            return
        suffix = data[suffix_at:end]
        suffix = self._suffixes.setdefault(suffix, suffix)
        self._known[data[at:digits_at]] = _KnownLookup(
            end - at, len(digits), suffix, key, command.language, command.version, {}
        )


def _row(ns: NameServer, caller: Caller, known: _KnownLookup) -> LookupRow:
    return ns.meter.keep_row(known.rows, caller, known.key[0], known.language, known.version)
