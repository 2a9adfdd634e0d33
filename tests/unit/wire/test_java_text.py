"""Invalid UTF-8 as Java replaces it. Provenance of the expectations: java.lang.String of JDK 17."""

import pytest

from routebook.wire.java_text import decode_utf8


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"abc", "abc"),
        ("é€\U0001d11e".encode(), "é€\U0001d11e"),
        (b"a\xed\xa0\x80b", "a\ufffdb"),
        (b"\xed\xa0A", "\ufffdA"),
        (b"\xed\xa0", "\ufffd"),
        (b"\xc0\x80", "\ufffd\ufffd"),
        (b"\xe2\x82A", "\ufffdA"),
        (b"\xf4\x90\x80\x80", "\ufffd" * 4),
    ],
)
def test_decoding(data: bytes, text: str) -> None:
    assert decode_utf8(data) == text
