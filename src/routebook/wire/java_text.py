"""Bytes to text as Java's UTF-8 decoder converts them."""

import re
from typing import Final

# Java replaces an encoded surrogate, whole or truncated, by one U+FFFD; Python replaces each of its bytes.
_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def decode_utf8(data: bytes) -> str:
    """Java: new String(data, UTF_8)."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(b"\xef\xbf\xbd", data).decode("utf-8", "replace")
