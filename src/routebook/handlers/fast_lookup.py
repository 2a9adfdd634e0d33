"""Look-ups that came before, but for their opaque: known by their bytes, and answered without decoding anything.

    length, header word, {"code":105,"extFields":{"topic":"T"},"flag":0,"language":"JAVA","opaque":  4711  ,"serialize…}
    └────────────────────────────────── known by ─────────────────────────────────────────────────┘ digits └─ rest ───┘

A client asks for the same few topics for as long as it lives, and only this number changes. What is answered comes from
the route cache, and is answered only while that is fresh: everything else takes the way of all requests.
"""

from struct import Struct
from typing import Final

import msgspec

from routebook.codes import FLAG_ONEWAY, FLAG_RESPONSE
from routebook.handlers.lookup import cache_key
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import Caller
from routebook.rollup import LookupRow
from routebook.wire.codec import success_around_opaque
from routebook.wire.command import Command
from routebook.wire.json_header import says_all_in_plain_json

_MARK: Final = b'"opaque":'
_LONGEST: Final = 512  # up to the opaque, and after it: peers choose both, and memory is bounded
_MOST_DIGITS: Final = 9
_WORDS: Final = Struct(">ii")
_BEFORE, _AFTER = success_around_opaque()


class _Known(msgspec.Struct, gc=False):
    """A look-up but for its opaque, and the beginning of its answer, which fits bodies of one size."""

    digits: int
    rest: bytes
    topic: str
    key: tuple[str, bool]
    language: str | None
    version: int
    rows: dict[str, LookupRow]  # by host, where they are counted
    head: bytes = b""
    fits: int = -1

    def fit(self, size: int) -> None:
        header = len(_BEFORE) + self.digits + len(_AFTER)
        self.head = _WORDS.pack(4 + header + size, header) + _BEFORE
        self.fits = size


class Repeats:
    """Of one server, for all its connections. `most` look-ups are known at a time."""

    __slots__ = ("_known", "_most", "_passed", "_rests")

    def __init__(self, *, most: int = 16_384) -> None:
        self._known: dict[bytes, _Known] = {}
        self._rests: dict[bytes, bytes] = {}  # the same few, again and again
        self._most = most
        self._passed = 0  # what could not be kept since it is full

    def __len__(self) -> int:
        return len(self._known)

    def answer_one(self, ns: NameServer, caller: Caller, data: bytes) -> tuple[bytes, bytes, bytes, bytes] | None:
        """The answer, in pieces, if this is just one known look-up: what nearly every read brings."""
        digits_at = data.find(_MARK, 0, _LONGEST) + 9
        one = self._known.get(data[:digits_at])
        if one is None:
            return None
        rest_at = digits_at + one.digits
        digits = data[digits_at:rest_at]
        entry = ns.cache.young.get(one.key)
        if (
            entry is None
            or entry.stamp != ns.routes.revision + ns.kv.revision + ns.settings_revision
            or data[rest_at:] != one.rest
            or not digits.isdigit()
            or digits[0] == 48
        ):
            return None
        row = one.rows.get(caller.host) or _row(ns, caller, one)
        body = entry.body
        length = len(body)
        if one.fits != length:
            one.fit(length)
        row[0] += 1
        row[2] += length
        return one.head, digits, _AFTER, body

    def answer(
        self, ns: NameServer, caller: Caller, data: bytes, at: int, answers: list[bytes], *, most_bytes: int
    ) -> tuple[int, int, int]:
        """Answer look-ups from `at` on as long as they are known: where they end, how many, and the size of the bodies.

        It ends with the answer that makes `most_bytes` full. Answers are in pieces, to be sent one after the other.
        """
        known, young, host = self._known, ns.cache.young, caller.host
        count = size = stamp = 0
        while at < len(data) and size < most_bytes:
            digits_at = data.find(_MARK, at, at + _LONGEST) + 9
            one = known.get(data[at:digits_at])
            if one is None:
                break
            rest_at = digits_at + one.digits
            digits = data[digits_at:rest_at]
            if not digits.isdigit() or digits[0] == 48 or not data.startswith(one.rest, rest_at):
                break
            stamp = stamp or ns.routes.revision + ns.kv.revision + ns.settings_revision
            entry = young.get(one.key)
            if entry is None or entry.stamp != stamp:
                break
            row = one.rows.get(host) or _row(ns, caller, one)
            body = entry.body
            length = len(body)
            if one.fits != length:
                one.fit(length)
            row[0] += 1
            row[2] += length
            answers += (one.head, digits, _AFTER, body)
            at = rest_at + len(one.rest)
            count += 1
            size += length
        return at, count, size

    def learn(self, command: Command, data: bytes, at: int) -> None:
        """A look-up that begins at `at` was answered: know it from now on, if it is a plain one."""
        if len(self._known) >= self._most and not self._starts_over():
            return
        key = cache_key(command)
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        digits_at = data.find(_MARK, at, min(end, at + _LONGEST)) + len(_MARK)
        digits = b"%d" % command.opaque
        rest_at = digits_at + len(digits)
        if (
            key is None
            or command.flag & (FLAG_ONEWAY | FLAG_RESPONSE)
            or not 0 < command.opaque < 10**_MOST_DIGITS
            or end - rest_at > _LONGEST
            or data[at + 4 : at + 8] != (end - at - 8).to_bytes(4, "big")  # JSON, and no body
            or data[digits_at:rest_at] != digits
            or not says_all_in_plain_json(data[at + 8 : end])
        ):
            return
        rest = data[rest_at:end]
        rest = self._rests.setdefault(rest, rest)
        self._known[data[at:digits_at]] = _Known(len(digits), rest, key[0], key, command.language, command.version, {})

    def _starts_over(self) -> bool:
        """It is full: forget all, once as many others have come as are known."""
        self._passed += 1
        if self._passed < self._most:
            return False
        self._passed = 0
        self._known.clear()
        self._rests.clear()
        return True


def _row(ns: NameServer, caller: Caller, one: _Known) -> LookupRow:
    return ns.meter.keep_row(one.rows, caller, one.topic, one.language, one.version)
