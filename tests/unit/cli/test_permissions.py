"""Permissions as text."""

import pytest

from routebook.cli.permissions import parse_permission, permission_text
from routebook.errors import UsageError


@pytest.mark.parametrize(("perm", "text"), [(6, "RW-"), (4, "R--"), (2, "-W-"), (0, "---"), (7, "RWX"), (14, "RW-P")])
def test_text(perm: int, text: str) -> None:
    assert permission_text(perm) == text


@pytest.mark.parametrize(("text", "perm"), [("rw", 6), ("R", 4), ("w", 2), ("6", 6), ("RW-", 6)])
def test_accepted_forms(text: str, perm: int) -> None:
    assert parse_permission(text) == perm


def test_other_text_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="'x' is not a permission; use rw, r or w"):
        parse_permission("x")
