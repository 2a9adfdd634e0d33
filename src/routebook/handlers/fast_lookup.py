"""Fast path for repeated look-ups: recognises a frame by the bytes around its opaque and answers without decoding.

    length, header word, {"code":105,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":  4711  ,"serialize…}
    └──────────────────────────── prefix: the key ────────────────────────────────────────────────┘ digits └─ suffix ─┘

    length, header word, code, language, version  opaque  flag, remark, extFields: binary; prefix and rest are the key
    └────────────────── 13 bytes ──────────────┘ 4 bytes └──────────────────────┘

A client asks for the same few topics throughout its life, and only the opaque changes. The answer is a cached route, or
that there is none. A frame that is not recognised, or whose answer may have changed, takes the normal path.
"""

from struct import Struct
from typing import Final, TypeAlias

import msgspec

from routebook.bounded_cache import BoundedCache
from routebook.codes import FLAG_ONEWAY, FLAG_RESPONSE
from routebook.handlers.lookup import cache_key, unchanged_entry
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import Caller
from routebook.handlers.route_cache import Entry, RouteKey
from routebook.rollup import LookupRow
from routebook.wire.codec import reply_header_parts
from routebook.wire.command import Command, Reply
from routebook.wire.json_header import is_plain_header

Pieces: TypeAlias = tuple[
    bytes, bytes, bytes, bytes
]  # of one answer, to be sent one after the other; no route: no body

_OPAQUE: Final = b'"opaque":'
_OPAQUE_SIZE: Final = len(_OPAQUE)
_MAX_BYTES: Final = 512  # of the prefix and of the suffix, and of a binary frame: peers choose them
_MAX_DIGITS: Final = 9
_WORDS: Final = Struct(">ii")
_BINARY: Final = b"\x01"  # after the length word
_FOUND: Final = reply_header_parts(Reply())


class _KnownLookup(msgspec.Struct, gc=False):
    """A look-up without its opaque, its answer, and the beginning of that for bodies of one size."""

    frame_size: int
    digits: int
    suffix: bytes
    permit: object
    key: RouteKey
    entry: Entry  # of the route cache; without a route an empty one
    before: bytes  # the opaque of the answer
    after: bytes
    language: str | None
    version: int
    rows: dict[str, LookupRow]  # by host: where look-ups are counted
    head: bytes = b""
    head_size: int = -1

    def set_head(self, size: int) -> None:
        header = len(self.before) + self.digits + len(self.after)
        self.head = _WORDS.pack(4 + header + size, header) + self.before
        self.head_size = size


class FastLookup:
    """The known look-ups of one server, shared by all its connections.

    A `permit` stands for what was checked before a request was answered. A known look-up is answered only to requests
    with the same permit, so that a signature is verified once.
    """

    __slots__ = ("_found", "_missing", "_nameserver", "_suffixes", "_unknown")

    def __init__(self, nameserver: NameServer, *, max_entries: int = 16_384) -> None:
        self._nameserver = nameserver
        self._found = BoundedCache[bytes, _KnownLookup](max_entries=max_entries)
        self._missing = BoundedCache[bytes, _KnownLookup](max_entries=max_entries // 2)  # anyone can ask for anything
        self._suffixes: dict[bytes, bytes] = {}  # clients share a few: keep one object of each
        self._unknown = b""  # the last read that begins with another frame: it is not searched twice

    def __len__(self) -> int:
        return len(self._found) + len(self._missing)

    def answer(
        self, caller: Caller, data: bytes, at: int, answers: list[bytes], *, max_bytes: int, permit: object = None
    ) -> tuple[int, int, int, int]:
        """Answer known look-ups from `at` on, up to the first other frame or the answer that exceeds `max_bytes`.

        Returns where the last one ends, their number, how many of them have no route, and the size of the answers
        beside headers of routes.
        """
        if data is self._unknown and not at:
            return 0, 0, 0, 0
        revision = self._nameserver.revision()
        end, before, size = len(data), len(answers), 0
        while at < end and size < max_bytes:
            found = self.answer_at(caller, data, at, permit, revision)
            if found is None:
                break
            at, pieces = found
            answers += pieces
            size += len(pieces[3]) or len(pieces[2])
        count = (len(answers) - before) // 4
        return at, count, answers[before + 3 :: 4].count(b"") if count else 0, size

    def answer_at(
        self, caller: Caller, data: bytes, at: int, permit: object, revision: int | None, size: int = 0
    ) -> tuple[int, Pieces] | None:
        """Match one known look-up whose answer is fresh, and count it. Returns its end and its answer.

        `revision` None is the current one. With `size` the frame has to have that size.
        """
        if revision is None:
            revision = self._nameserver.revision()
        digits_at = data.find(_OPAQUE, at, at + _MAX_BYTES) + _OPAQUE_SIZE
        prefix = data[at:digits_at]
        known = self._found.get(prefix) or self._missing.get(prefix)
        if known is not None:
            suffix_at = digits_at + known.digits
            digits = data[digits_at:suffix_at]
            if not digits.isdigit() or digits < b"1" or not data.startswith(known.suffix, suffix_at):
                return None
        else:
            if not data.startswith(_BINARY, at + 4):
                self._unknown = data
                return None
            key = _binary_key(data, at)
            known = self._found.get(key) or self._missing.get(key)
            if known is None:
                return None
            digits = b"%d" % int.from_bytes(data[at + 13 : at + 17], "big", signed=True)
            if len(digits) != known.digits:
                known.digits, known.head_size = len(digits), -1
        if known.permit is not permit or (size and known.frame_size != size):
            return None
        entry = known.entry
        if entry.revision != revision:
            renewed = self._renew(known, revision)
            if renewed is None:
                return None
            entry = renewed
        entry.used = True
        body = entry.body
        row = known.rows.get(caller.host) or _row(self._nameserver, caller, known)
        size = len(body)
        if known.head_size != size:
            known.set_head(size)
        row[0] += 1
        row[2] += size
        if not size:
            row[1] += 1
        return at + known.frame_size, (known.head, digits, known.after, body)

    def _renew(self, known: _KnownLookup, revision: int) -> Entry | None:
        """Something changed in the NameServer: the answer if it is still the same, as the route itself is."""
        ns, entry = self._nameserver, known.entry
        if known.after is _FOUND[1]:
            found = unchanged_entry(ns, known.key, revision)
            if found is not None:
                known.entry = found
            return found
        if entry.base_revision != revision - ns.routes.revision or ns.routes.queues(known.key[0]) is not None:
            return None
        entry.revision = revision
        return entry

    def learn(self, command: Command, reply: Reply, data: bytes, at: int, permit: object = None) -> None:
        """Remember a look-up that begins at `at` and was answered with a route, or that there is none."""
        known, other = (self._missing, self._found) if reply.code else (self._found, self._missing)
        if not known.has_room():
            return
        if not known:
            self._suffixes.clear()
        key = cache_key(command)
        entry = None if key is None else self._entry(key, reply)
        if key is None or entry is None or command.flag & (FLAG_ONEWAY | FLAG_RESPONSE):
            return
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        digits = b"%d" % command.opaque
        prefix, suffix = _binary_key(data, at), b""
        if not prefix:
            digits_at = data.find(_OPAQUE, at, min(end, at + _MAX_BYTES)) + _OPAQUE_SIZE
            suffix_at = digits_at + len(digits)
            if (
                not 0 < command.opaque < 10**_MAX_DIGITS
                or end - suffix_at > _MAX_BYTES
                or data[at + 4 : at + 8] != (end - at - 8).to_bytes(4, "big")  # JSON, without a body
                or data[digits_at:suffix_at] != digits
                or not is_plain_header(data[at + 8 : end])
            ):
                return
            prefix, suffix = data[at:digits_at], data[suffix_at:end]
        suffix = self._suffixes.setdefault(suffix, suffix)
        before, after = reply_header_parts(reply) if reply.code else _FOUND
        other.pop(prefix, None)
        known[prefix] = _KnownLookup(
            end - at, len(digits), suffix, permit, key, entry, before, after, command.language, command.version, {}
        )

    def _entry(self, key: RouteKey, reply: Reply) -> Entry | None:
        """What an answer was made from; None if not from the tables of this server alone."""
        ns = self._nameserver
        if not reply.code:
            entry = ns.cache.get(key)
            return entry if entry is not None and entry.body is reply.body else None
        if ns.settings.cluster_test or ns.routes.queues(key[0]) is not None:
            return None
        revision = ns.revision()
        return Entry(b"", revision, revision - ns.routes.revision)


def _binary_key(data: bytes, at: int) -> bytes:
    """A frame with a binary header, without its opaque; empty: it is something else, or long."""
    size = 4 + int.from_bytes(data[at : at + 4], "big")
    if size > _MAX_BYTES or not data.startswith(_BINARY, at + 4):
        return b""
    return data[at : at + 13] + data[at + 17 : at + size]


def _row(ns: NameServer, caller: Caller, known: _KnownLookup) -> LookupRow:
    return ns.meter.keep_row(known.rows, caller, known.key[0], known.language, known.version)
