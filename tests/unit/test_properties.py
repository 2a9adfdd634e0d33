"""Java's Properties text: parsing, printing and editing."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.properties import MalformedEscape, decode_file, decode_wire, edit, encode_file, format_entries, parse

# Checked against java.util.Properties of JDK 17.
READ_BY_JAVA = [
    ("a=b", {"a": "b"}),
    ("a : b ", {"a": "b "}),
    ("a b=c", {"a": "b=c"}),
    ("a\tb", {"a": "b"}),
    ("a = = b", {"a": "= b"}),
    ("a", {"a": ""}),
    ("=b", {"": "b"}),
    ("# a=b\n! c=d\n  # e=f\ng=h", {"g": "h"}),
    ("# a \\\nb=c", {"b": "c"}),
    ("a=b#c", {"a": "b#c"}),
    ("a=b\\\n   c", {"a": "bc"}),
    ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
    ("a=b\\\r\n#c\nd=e", {"a": "b#c", "d": "e"}),
    ("a=b\\\n\nc=d", {"a": "b", "c": "d"}),
    ("a=b\\", {"a": "b"}),
    ("\\\n# a=b\nc=d", {"c": "d"}),
    ("\\", {"": ""}),
    ("\\\r\n", {}),
    ("a\\ b\\=c\\:d=e", {"a b=c:d": "e"}),
    ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
    ("a=\\u0041\\u4e2d", {"a": "A中"}),
    ("a=\\ud83d\\ude00", {"a": "😀"}),
    ("a=1\rb=2\r\nc=3\n", {"a": "1", "b": "2", "c": "3"}),
    ("a=1\na=2", {"a": "2"}),
    ("", {}),
    (" \t\f\n", {}),
]


@pytest.mark.parametrize(("text", "expected"), READ_BY_JAVA)
def test_reads_what_java_reads(text: str, expected: dict[str, str]) -> None:
    assert as_dict(text) == expected


def test_entries_have_line_numbers() -> None:
    entries = parse("# one\na=1\n\nb=\\\n  2\r\nc=3")
    assert [(entry.key, entry.line) for entry in entries] == [("a", 2), ("b", 4), ("c", 6)]


@pytest.mark.parametrize("text", ["x=1\na=\\u00zz", "x=1\n\\u12=3", "x=1\na=\\u", "x=1\na=\\u00é9"])
def test_a_malformed_escape_is_an_error_with_its_line(text: str) -> None:
    with pytest.raises(MalformedEscape) as caught:
        parse(text)
    assert caught.value.line == 2


def test_a_body_is_utf8_decoded_as_latin1() -> None:
    assert as_dict(decode_wire("a=é".encode())) == {"a": "Ã©"}
    assert as_dict(decode_wire(b"a=\\u00e9")) == {"a": "é"}
    assert as_dict(decode_wire(b"a=\xff")) == {"a": "ï¿½"}


def test_printed_sorted_and_unescaped() -> None:
    assert format_entries([("b", "x\\y z"), ("a", "中=")]) == "a=中=\nb=x\\y z\n"


def test_printed_in_java_order_without_lone_surrogates() -> None:
    # Java compares UTF-16 units: a pair of surrogates sorts before U+FFFD
    assert format_entries([("\ufffd", "1"), ("😀", "\ud83d")]) == "😀=?\n\ufffd=1\n"


def test_editing_keeps_everything_else() -> None:
    before = "# mine\nlistenPort = 9876 \n\n! other\nforeign:x\\\n  y\norderMessageEnable=false"
    after = edit(before, {"orderMessageEnable": "true", "listenPort": "1"})
    assert after == "# mine\nlistenPort = 1\n\n! other\nforeign:x\\\n  y\norderMessageEnable=true"


def test_new_keys_are_appended_on_separate_lines() -> None:
    assert edit("a=1", {"b": "2", "c": "3"}) == "a=1\nb=2\nc=3\n"
    assert edit("a=1\r\n", {"b": "2"}) == "a=1\r\nb=2\r\n"
    assert edit("", {"b": "2"}) == "b=2\n"


def test_the_last_of_two_equal_keys_is_edited() -> None:
    assert edit("a=1\na=2\n", {"a": "3"}) == "a=1\na=3\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a", "a=x\n"),
        ("a\n", "a=x\n"),
        ("a b", "a x\n"),
        ("a=\\\n  b\\\n  c\nd=e", "a=\\\n  x\nd=e\n"),
    ],
)
def test_unusual_layouts_are_edited(before: str, after: str) -> None:
    assert edit(before, {"a": "x"}) == after.removesuffix("" if before.endswith("\n") else "\n")


def test_a_file_that_ends_in_a_backslash_does_not_swallow_a_new_key() -> None:
    for open_end in ("a=b\\", "a=b\\\n", "a=b\\\r"):
        assert as_dict(edit(open_end, {"c": "d"})) == {"a": "b", "c": "d"}


def test_an_invalid_entry_stays_unchanged() -> None:
    assert edit("bad\\u00=1\na=\\u00zz\n", {"a": "2", "b": "3"}) == "bad\\u00=1\na=2\nb=3\n"


def test_values_are_escaped_so_that_java_reads_them_back() -> None:
    text = edit("", {"a b": " x\\y\tz", "#c": "=é中😀"})
    assert text == "a\\ b=\\ x\\\\y\\tz\n\\#c=\\=\\u00E9\\u4E2D\\uD83D\\uDE00\n"
    assert as_dict(decode_file(encode_file(text))) == {"a b": " x\\y\tz", "#c": "=é中😀"}


FRAGMENTS = st.sampled_from(
    ["a", "b", "key", "=", ":", " ", "\t", "\f", "\\", "\n", "\r", "\r\n", "#", "!", "\\u0041", "\\t", "\\\n", "é"]
)
FILES = st.lists(FRAGMENTS, max_size=20).map("".join)
WORDS = st.text(st.characters(codec="utf-8"), max_size=6)
KEYS = st.one_of(st.sampled_from(["a", "b", "key"]), WORDS.filter(bool))


@given(FILES, st.dictionaries(KEYS, WORDS, max_size=3))
def test_an_edited_file_has_the_old_content_and_the_changes(text: str, changed: dict[str, str]) -> None:
    edited = decode_file(encode_file(edit(text, changed)))
    # a lone backslash at the end is an empty key, as long as nothing follows
    assert without_empty_key(as_dict(edited)) == without_empty_key(as_dict(text) | changed)


@given(FILES)
def test_editing_nothing_changes_nothing(text: str) -> None:
    assert edit(text, {}) == text


@given(st.text(max_size=40))
def test_any_text_parses_or_has_a_malformed_escape(text: str) -> None:
    with contextlib.suppress(MalformedEscape):
        assert len(parse(text)) <= 1 + text.count("\n") + text.count("\r")


def as_dict(text: str) -> dict[str, str]:
    return {entry.key: entry.value for entry in parse(text)}


def without_empty_key(entries: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in entries.items() if key}
