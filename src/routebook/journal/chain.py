"""The hash chain of a journal: shows that no record was removed or altered. Pure.

    {…,"seq":1,…,"chain":"start"}                    the first link
    {…,"seq":2,…}
    {…,"seq":3,…}
    {…,"seq":4,…,"chain":"9f86d081…"}                SHA-256 of the lines 1 to 3
    {…,"seq":5,…}                                    head: SHA-256 of the lines 4 and 5

`chain` is the last field of a line. A link holds the hash of all lines from the previous link up to the line before it,
with their line feeds. As the previous link is part of that text, each link covers everything before it. Each segment
begins with a link, and a clean shutdown ends with one.
"""

import re
from hashlib import sha256
from typing import Final

import msgspec

START: Final = "start"  # the first link of a journal
_LINK: Final = re.compile(rb',"chain":"([0-9a-f]{64}|start)"\}$')
_LINK_TAIL_BYTES: Final = len(b',"chain":""}') + 64


class ChainHead(msgspec.Struct, frozen=True, kw_only=True):
    """The hash of a journal up to and including record `seq`. A copy of it elsewhere protects everything before it."""

    ns: str
    stream: str  # journal or audit
    seq: int
    head: str


class Chain:
    """The state after some lines: their hash since the last link."""

    __slots__ = ("_hash",)

    def __init__(self, text: bytes | None = None) -> None:
        """Continue after `text`, which begins with a link; None: this is the first link."""
        self._hash = None if text is None else sha256(text)

    @property
    def head(self) -> str:
        return START if self._hash is None else self._hash.hexdigest()

    @property
    def is_started(self) -> bool:
        return self._hash is not None

    def add(self, text: bytes) -> None:
        """Add whole lines without a link."""
        if self._hash is not None:
            self._hash.update(text)

    def link(self, line: bytes) -> bytes:
        """Return the line with a link, and continue after it."""
        linked = b'%b,"chain":"%b"}\n' % (line[:-2], self.head.encode())
        self._hash = sha256(linked)
        return linked

    def copy(self) -> "Chain":
        copied = Chain()
        copied._hash = None if self._hash is None else self._hash.copy()
        return copied


def link_of(raw: bytes) -> str | None:
    """The link in a line, given without its line feed; None if it has none."""
    found = _LINK.search(raw, max(0, len(raw) - _LINK_TAIL_BYTES))
    return None if found is None else found[1].decode()


def without_link(raw: bytes) -> bytes:
    """The line, without line feed, as it is without its link."""
    found = _LINK.search(raw, max(0, len(raw) - _LINK_TAIL_BYTES))
    return raw if found is None else raw[: found.start()] + b"}"


def chain_after(text: bytes) -> Chain:
    """The chain after a segment's text, from its last link on; one that is not started if the text has no link."""
    end = text.rfind(b"\n") + 1
    at = end
    while (at := text.rfind(b',"chain":"', 0, at)) >= 0:
        line_start, line_end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
        if 0 <= line_end < end and link_of(text[line_start:line_end]) is not None:
            return Chain(text[line_start:end])
    return Chain()
