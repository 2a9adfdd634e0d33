"""Names in paths."""

from urllib.parse import quote

import pytest

from routebook.server.http.api.names import from_path, shown


@pytest.mark.parametrize(
    "name", ["plain", "%RETRY%group", "a/b", "//a//", "..", "ü 中文", "<script>", "a?b#c&d=e", "%2F", "+", "\ud800x"]
)
def test_a_name_comes_back_whatever_it_holds(name: str) -> None:
    assert from_path(quote(name.encode("utf-8", "surrogatepass"), safe="")) == name


def test_bytes_that_are_no_text_become_something() -> None:
    assert from_path("%ff%fe") == "\ufffd\ufffd"


def test_a_path_is_shown_printable_and_short() -> None:
    assert shown("/a%1b[31m") == "/a\\x1b[31m"
    assert len(shown("/" + "x" * 10_000)) < 300
