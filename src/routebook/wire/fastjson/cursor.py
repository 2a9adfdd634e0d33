"""A cursor over JSON text that moves like fastjson2 2.0.59: blanks, commas, comments, quotes, skipped values."""

import re
from typing import Final

from routebook.wire.fastjson.values import unescape
from routebook.wire.java_text import decode_utf8

QUOTES: Final = b"\"'"
_END: Final = 0x1A  # after the last byte, as in Java
# Java tests `1L << byte`, which uses six bits of the byte: bytes above 0x7f that end like a blank are blanks, too.
_BLANK: Final = rb" \t\n\r\f\x08\x88-\x8a\x8c\x8d\xa0\xc8-\xca\xcc\xcd\xe0"
_BLANKS: Final = re.compile(rb"[" + _BLANK + rb"]*")
_BLANKS_AND_NULS: Final = re.compile(rb"[" + _BLANK + rb"\x00]*")
_AFTER_VALUE: Final = re.compile(rb"[" + _BLANK + rb"]*(?:(,)[" + _BLANK + rb"]*)?")
_COLON: Final = re.compile(rb"[" + _BLANK + rb"]*:[" + _BLANK + rb"]*")
KNOWN_COLON: Final = re.compile(rb"[ \t\n\r\f\x08]*:[ \t\n\r\f\x08]*")  # after a name that Java expects
_NULL_OR_EMPTY: Final = re.compile(rb"""null|""|''|"null"|'null'""")

# Text is scanned by lead bytes: invalid UTF-8 can include the closing quote, exactly as in Java.
_WALK: Final = rb"\\(?:u.{4}|x..|[^ux])|[\xc0-\xdf].|[\xe0-\xef]..|[\xf0-\xf7]..."
_TEXT: Final = {
    ord('"'): re.compile(rb'"((?:[^"\\\x80-\xff]++|' + _WALK + rb')*+)"', re.DOTALL),
    ord("'"): re.compile(rb"'((?:[^'\\\x80-\xff]++|" + _WALK + rb")*+)'", re.DOTALL),
}
# Skipped text is not decoded: any bytes up to the quote, but only known escapes.
_SKIPPED_ESCAPE: Final = rb"""\\(?:u.{4}|x..|[0-7btnvfFr"'/.\\#&\[\]@()_,~ ])"""
_SKIPPED_TEXT: Final = {
    ord('"'): re.compile(rb'"[^"\\]*+(?:' + _SKIPPED_ESCAPE + rb'[^"\\]*+)*+"', re.DOTALL),
    ord("'"): re.compile(rb"'[^'\\]*+(?:" + _SKIPPED_ESCAPE + rb"[^'\\]*+)*+'", re.DOTALL),
}
_SKIPPED_WORD: Final = re.compile(
    rb"true|false|null|[+-]?(?:[0-9]+[LFDBS]|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]*)(?:[eE](?:[+-]?[0-9]+)?)?[FD]?)"
)

_BARE_NAME: Final = re.compile(rb"(?:\\(?:u.{4}|x..|[^ux])|[^ \t\n\r\f\x08.\-+*/><=!\[\]{}(),:|&\x1a\\])+", re.DOTALL)
_SET: Final = re.compile(rb"Set[" + _BLANK + rb"]*")
# The name of a bean's member; one of at most eight characters is read by another loop in Java.
_BEAN_NAME: Final = re.compile(rb"(?:[\x00-\x7f]|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2})*+")
_HASHED_VALUE: Final = re.compile(
    rb"(?:[\x00-\x7f]|[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2})*+"
)
_SHORT_BEAN_NAME: Final = re.compile(rb"(?:[\x00-\x7f]|[\xc2\xc3].){1,8}", re.DOTALL)
_PACKED_NAME_LENGTH: Final = 8


class JsonError(ValueError):
    """fastjson2 would reject this text for the expected type."""

    def __init__(self, what: str, *, data: bytes, pos: int) -> None:
        before = data[:pos]
        self.line = before.count(b"\n") + 1
        self.column = pos - (before.rfind(b"\n") + 1) + 1
        super().__init__(f"{what} at line {self.line}, column {self.column}")


class Cursor:
    """The position in a text. `_comma` is True if a comma followed the last value."""

    __slots__ = ("_comma", "_data", "_depth", "_pos")

    def __init__(self, data: bytes) -> None:
        self._data = data + b"\x1a"
        self._pos = -1
        self._comma = False
        self._depth = 0
        self._next()

    def error(self, what: str) -> JsonError:
        return JsonError(what, data=self._data[:-1], pos=min(self._pos, len(self._data) - 1))

    def finish(self) -> None:
        """Raise an error if anything follows the value."""
        if self._data[self._pos] != _END:
            raise self.error("unexpected text after the value")

    def skip(self) -> None:
        """Skip a value of any type and depth. Stricter than reading: exactly one comma between two values."""
        data = self._data
        closers = bytearray()
        while True:
            ch = data[self._pos]
            if ch in b"{[":
                closers.append(ord("}") if ch == ord("{") else ord("]"))
                self._next()
                first = True
            elif ch == ord("S"):  # Java: Set[…]; the bracket itself is not checked
                match = _SET.match(data, self._pos)
                if match is None:
                    raise self.error("a value is expected")
                closers.append(ord("]"))
                self._pos = match.end()
                self._next()
                first = True
            else:
                pattern = _SKIPPED_TEXT.get(ch, _SKIPPED_WORD)
                match = pattern.match(data, self._pos)
                if match is None:
                    raise self.error("a value is expected")
                self._pos = match.end()
                self._after_skipped()
                first = False
            while closers and data[self._pos] == closers[-1]:
                closers.pop()
                self._pos += 1
                self._after_skipped()
                first = False
            if not closers:
                return
            if not first and not self._comma:
                raise self.error("a comma is expected")
            if closers[-1] == ord("}"):
                self._skip_name()

    def _at(self, ch: bytes) -> bool:
        return self._data.startswith(ch, self._pos)

    def _blanks(self, pattern: re.Pattern[bytes] = _BLANKS) -> None:
        match = pattern.match(self._data, self._pos)
        if match is not None:
            self._pos = match.end()

    def _next(self) -> None:
        """Move past this character, blanks and comments."""
        if self._pos < len(self._data) - 1:
            self._pos += 1
        self._blanks(_BLANKS_AND_NULS)
        self._comment_or_wide()

    def _comment_or_wide(self) -> None:
        if self._at(b"/"):
            self._comment()
        elif (
            self._data[self._pos] & 0xF8 == 0xF0
        ):  # Java: takes four bytes; the next name is compared from the last one
            if self._pos + 3 >= len(self._data) - 1:
                raise self.error("the text ends within a character")
            self._pos += 3

    def _comment(self) -> None:
        while self._at(b"/"):
            closing = {b"/*": b"*/", b"//": b"\n"}.get(self._data[self._pos : self._pos + 2])
            if closing is None or self._pos + 2 >= len(self._data) - 1:
                raise self.error("a comment is expected")
            end = self._data.find(closing, self._pos + 2)
            self._pos = end + len(closing) if end >= 0 else len(self._data) - 1
            self._blanks()

    def _open(self, bracket: bytes) -> bool:
        if not self._at(bracket):
            return False
        self._next()
        return True

    def _close(self, bracket: bytes) -> bool:
        if not self._at(bracket):
            return False
        self._pos += 1
        self._blanks(_BLANKS_AND_NULS)
        if self._at(b","):
            self._comma = True
            self._pos += 1
            self._blanks(_BLANKS_AND_NULS)
        self._comment_or_wide()
        return True

    def _skip(self, ch: bytes) -> bool:
        self._blanks()
        if not self._at(ch):
            return False
        self._next()
        return True

    def _skip_comma(self) -> None:
        self._skip(b",")

    def _after_value(self) -> None:
        match = _AFTER_VALUE.match(self._data, self._pos)
        if match is not None:
            self._pos = match.end()
            self._comma = match[1] is not None

    def _after_skipped(self) -> None:
        self._after_value()
        if (self._data[self._pos] in b"}]\x1a") == self._comma:
            raise self.error("a comma is missing or redundant")

    def _null(self) -> None:
        if not self._at(b"null"):
            raise self.error("null is expected")
        self._pos += 4
        self._after_value()

    def _null_or_empty(self) -> bool:
        match = _NULL_OR_EMPTY.match(self._data, self._pos)
        if match is None:
            return False
        self._pos = match.end()
        self._after_value()
        return True

    def _quoted(self) -> str:
        match = _TEXT[self._data[self._pos]].match(self._data, self._pos)
        if match is None:
            raise self.error("a text is unterminated or not UTF-8")
        raw = match[1]
        text = self._unescaped(raw)
        self._pos = match.end()
        return text

    def _unescaped(self, raw: bytes) -> str:
        try:
            return unescape(raw) if b"\\" in raw else decode_utf8(raw)
        except ValueError as why:
            raise self.error(str(why)) from why

    def _member_name(self) -> str | None:
        """Read a quoted name and its colon; None if there is no quote."""
        if self._data[self._pos] not in QUOTES:
            return None
        name = self._quoted()
        self._colon()
        return name

    def _bean_name(self) -> str:
        """Read the name of a bean's member: quoted, with at most three bytes per character, as in Java.

        Java compares names of up to eight characters as numbers of eight bytes, which NULs at the end do not change.
        """
        if self._data[self._pos] not in QUOTES:
            raise self.error("a quoted name is expected")
        name = self._hashed_text(_BEAN_NAME)
        if len(name) <= _PACKED_NAME_LENGTH and name[:1] != "\0":
            name = name.rstrip("\0")
        return name

    def _hashed_text(self, pattern: re.Pattern[bytes] = _HASHED_VALUE) -> str:
        """Read text that Java compares by hash, character by character: invalid UTF-8 is an error."""
        start = self._pos + 1
        text = self._quoted()
        raw = self._data[start : self._pos - 1]
        if not raw.isascii() and not pattern.fullmatch(raw) and not _SHORT_BEAN_NAME.fullmatch(raw):
            raise self.error("a name has unsupported characters")
        return text

    def _bare_name(self) -> str:
        match = _BARE_NAME.match(self._data, self._pos)
        if match is None:
            raise self.error("a name is expected")
        self._pos = match.end()
        return self._unescaped(match[0])

    def _skip_name(self) -> None:
        pattern = _SKIPPED_TEXT.get(self._data[self._pos])
        match = None if pattern is None else pattern.match(self._data, self._pos)
        if match is None:
            raise self.error("a quoted name is expected")
        self._pos = match.end()
        self._colon()

    def _colon(self, pattern: re.Pattern[bytes] = _COLON) -> None:
        match = pattern.match(self._data, self._pos)
        if match is None:
            raise self.error("a colon is expected")
        self._pos = match.end()
