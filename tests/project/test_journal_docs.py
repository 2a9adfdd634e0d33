"""docs/journal.md agrees with the code: kinds, fields, the example and the defaults."""

import re
from pathlib import Path

import msgspec
import pytest

from routebook.journal.record import KINDS, decode_record
from routebook.journal.write.options import MIB, JournalOptions

PAGE = (Path(__file__).parents[2] / "docs" / "journal.md").read_text(encoding="utf-8")
ASKED = {"peer", "who", "code"}


def rows() -> dict[str, set[str]]:
    """Kinds and the fields that the table gives them."""
    found: dict[str, set[str]] = {}
    for kinds, fields in re.findall(r"^\| (`[a-z_` ]+`) \| ([^|]+) \|[^|]+\|$", PAGE, re.MULTILINE):
        for kind in re.findall(r"`([a-z_]+)`", kinds):
            found[kind] = set(re.findall(r"`([a-z_]+)`", fields))
    found["broker_changed"] |= found["broker_up"]
    return found


def test_the_table_has_every_kind() -> None:
    assert set(rows()) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_every_field(kind: str) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(KINDS[kind])}
    asked = fields & ASKED if kind not in ("peer_diverged", "peer_agreed") else set()
    assert rows()[kind] == fields - asked


def test_the_example_is_a_line() -> None:
    (line,) = re.findall(r"^\{.*\}$", PAGE, re.MULTILINE)
    assert decode_record(line.encode()).seq == 7


def test_the_numbers_are_the_defaults() -> None:
    options = JournalOptions()
    assert f"{options.segment_bytes // MIB} MiB or is {options.segment_age_s // 3600} hours old" in PAGE
    assert f"older than {options.retain_age_s // 86_400} days" in PAGE
    assert f"larger than {options.retain_bytes // MIB // 1024} GiB" in PAGE
    assert f"in groups, {options.commit_ms} ms after" in PAGE
    assert f"Up to {options.queue_records:,} records or {options.queue_bytes // MIB} MiB" in PAGE
    assert f"after {options.retry_first_s} s" in PAGE
    assert f"every {options.retry_last_s:.0f} s" in PAGE
