"""The text format of `java.util.Properties`: parses it as Java does, prints it as 319 does, edits files in place.

    logical line  =  natural lines joined by a backslash before the line end; leading blanks of each are dropped
    comment       =  first character is # or !  (a comment cannot be continued)
    entry         =  key  [blanks] [= or :] [blanks]  value       \\t \\n \\r \\f \\uXXXX, and \\x for any other x

Bytes are ISO-8859-1 on disk and, in 318, UTF-8 that is decoded as ISO-8859-1, as in Java: a character above 0xff has to
be written as \\uXXXX, or it becomes several other characters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

_BLANKS: Final = " \t\f"
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPES: Final = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f", "\\": "\\\\"}
_NATURAL_LINE: Final = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_HEX: Final = re.compile(r"[0-9A-Fa-f]{4}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class MalformedEscape(ValueError):
    """A backslash-u that is not followed by four hexadecimal digits."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}: \\u is not followed by four hexadecimal digits")
        self.line = line


class Entry(NamedTuple):
    """A key, its value, and the number of its first line (from 1)."""

    key: str
    value: str
    line: int


class _Logical(NamedTuple):
    """A logical line: its text, where each of its natural lines starts in the file, and where it ends."""

    text: str
    line: int
    pieces: list[tuple[int, int]]  # offset in `text`, offset in the file
    end: int
    open: bool  # the file ends inside it, after a backslash

    def offset(self, index: int) -> int:
        """The position in the file of the character at `index`."""
        at, start = next(piece for piece in reversed(self.pieces) if piece[0] <= index)
        return start + index - at


def decode_file(data: bytes) -> str:
    """Decode the bytes of a file for `parse` and `edit`."""
    return data.decode("iso-8859-1")


def encode_file(text: str) -> bytes:
    """Encode the result of `edit`."""
    return text.encode("iso-8859-1")


def decode_wire(body: bytes) -> str:
    """Decode the body of a 318: UTF-8 that is read as ISO-8859-1. Java: MixAll.string2Properties."""
    return body.decode("utf-8", "replace").encode("utf-8").decode("iso-8859-1")


def parse(text: str) -> list[Entry]:
    """All entries in order; if a key is repeated, the last one counts."""
    return [_entry(logical) for logical in _logical_lines(text)]


def format_entries(entries: Iterable[tuple[str, str]]) -> str:
    """The entries as 319 prints them: sorted by key, without escapes. Java: MixAll.properties2String."""
    ordered = sorted(entries, key=lambda entry: entry[0].encode("utf-16-be", "surrogatepass"))
    text = "".join(f"{key}={value}\n" for key, value in ordered)
    # Java: encodes a lone surrogate as a question mark
    return _SURROGATE.sub("?", text)


def edit(text: str, changed: Mapping[str, str]) -> str:
    """Change values in a file: comments, order, layout and other keys stay, new keys are appended.

    Never raises: an entry that does not parse stays unchanged.
    """
    logical_lines = list(_logical_lines(text))
    last_place = {_key(logical): number for number, logical in enumerate(logical_lines)}
    parts: list[str] = []
    done = 0
    for number, key in sorted((last_place[key], key) for key in changed if key in last_place):
        logical = logical_lines[number]
        key_end, value_start = _split(logical.text)
        value = _escape_value(changed[key])
        # an empty value does not end a backslash in the separator, so it gets its own separator
        layout_stays = bool(value) and value_start < len(logical.text)
        before = text[done : logical.offset(value_start if layout_stays else key_end)]
        parts += [before, "" if layout_stays else "=", value]
        done = logical.end
    still_open = bool(logical_lines) and logical_lines[-1].open and done < logical_lines[-1].end
    parts.append(text[done:])

    edited = "".join(parts)
    new = {key: value for key, value in changed.items() if key not in last_place}
    if not new:
        return edited
    line_end = "\r\n" if "\r\n" in text else "\n"
    if still_open:
        edited += line_end * 2  # an empty line ends an entry that ends with a backslash
    elif edited and not edited.endswith(("\n", "\r")):
        edited += line_end
    return edited + "".join(f"{_escape_key(key)}={_escape_value(value)}{line_end}" for key, value in new.items())


def _logical_lines(text: str) -> Iterator[_Logical]:
    """Java: Properties.LineReader."""
    content, first_line, pieces = "", 0, list[tuple[int, int]]()
    for number, match in enumerate(_NATURAL_LINE.finditer(text), 1):
        natural, start, end = match[1], match.start(), match.end(1)
        at_end = not match[2]
        stripped = natural.lstrip(_BLANKS)
        start += len(natural) - len(stripped)
        if not pieces:
            if not stripped or stripped[0] in "#!":
                if at_end:
                    return
                continue
            first_line = number
        # not by a pattern, which is quadratic on a line of backslashes
        continued = (len(stripped) - len(stripped.rstrip("\\"))) % 2 == 1
        pieces.append((len(content), start))
        content += stripped[:-1] if continued else stripped
        if continued and not at_end:
            if match.end() < len(text):
                if not content:
                    pieces = []  # a line with only a backslash: the next one is a new logical line, or a comment
                continue
            end = match.end()
        # Java: a lone backslash at the end of the file is an empty key, unless \r\n follows it
        if content or (continued and match[2] != "\r\n"):
            yield _Logical(content, first_line, pieces, end, continued)
        content, pieces = "", []
        if at_end:
            return


def _split(logical: str) -> tuple[int, int]:
    """The end of the key and the start of the value."""
    key_end, limit = 0, len(logical)
    while key_end < limit and logical[key_end] not in "=: \t\f":
        key_end += 2 if logical[key_end] == "\\" else 1
    key_end = value_start = min(key_end, limit)
    separated = False
    while value_start < limit:
        if logical[value_start] in "=:" and not separated:
            separated = True
        elif logical[value_start] not in _BLANKS:
            break
        value_start += 1
    return key_end, value_start


def _entry(logical: _Logical) -> Entry:
    key_end, value_start = _split(logical.text)
    key = _unescape(logical.text[:key_end], logical.line)
    return Entry(key, _unescape(logical.text[value_start:], logical.line), logical.line)


def _key(logical: _Logical) -> str | None:
    """The key; None if it does not parse."""
    try:
        return _unescape(logical.text[: _split(logical.text)[0]], logical.line)
    except MalformedEscape:
        return None


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        parts.append(text[at:found])
        escaped = text[found + 1 : found + 2]
        at = found + 2
        if escaped == "u":
            digits = text[at : at + 4]
            if not _HEX.fullmatch(digits):
                raise MalformedEscape(line)
            parts.append(chr(int(digits, 16)))
            at += 4
        else:
            parts.append(_CONTROLS.get(escaped, escaped))
    parts.append(text[at:])
    joined = "".join(parts)
    # join surrogate pairs
    return (
        joined.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        if _SURROGATE.search(joined)
        else joined
    )


def _escape_value(value: str) -> str:
    escaped = _escape(value)
    return "\\" + escaped if escaped[:1] in {" ", "=", ":"} else escaped


def _escape_key(key: str) -> str:
    escaped = re.sub("[ =:]", r"\\\g<0>", _escape(key))
    return "\\" + escaped if escaped[:1] in {"#", "!"} else escaped


def _escape(text: str) -> str:
    parts: list[str] = []
    for char in text:
        if char in _ESCAPES:
            parts.append(_ESCAPES[char])
        elif " " <= char <= "~":
            parts.append(char)
        else:
            units = char.encode("utf-16-be", "surrogatepass")
            parts += [f"\\u{int.from_bytes(units[i : i + 2], 'big'):04X}" for i in range(0, len(units), 2)]
    return "".join(parts)
