"""Bronze has a column for every field of every event kind."""

from typing import get_args

import msgspec

from routebook.events import Event
from routebook.journal.record import FORMAT_VERSION as JOURNAL_VERSION
from routebook.lake.tables.bronze import EVENTS
from routebook.lake.tables.ddl import columns_of
from routebook.lake.tables.kinds import ENVELOPE, FORMAT_VERSION, KINDS, column_of

COLUMNS = dict(columns_of(EVENTS.columns))
TYPES = {str: "string", int: ("int", "bigint", "timestamp"), bool: "boolean"}


def test_every_field_of_every_kind_has_a_column() -> None:
    missing = [
        f"{kind.__name__}.{field.name}"
        for kind in get_args(Event)
        for field in msgspec.structs.fields(kind)
        if column_of(str(kind.__struct_config__.tag), field.name) not in COLUMNS
    ]
    assert missing == []


def test_fields_have_the_type_of_their_column() -> None:
    for kind in get_args(Event):
        for field in msgspec.structs.fields(kind):
            expected = TYPES.get(field.type)
            if expected is not None:
                assert COLUMNS[column_of(str(kind.__struct_config__.tag), field.name)] in expected, (kind, field.name)


def test_every_column_is_an_envelope_field_a_kind_field_or_derived() -> None:
    of_kinds = {field.column for fields in KINDS.values() for field in fields}
    assert set(COLUMNS) == of_kinds | set(ENVELOPE) | {"day", "raw", "source"}


def test_the_format_version_is_the_journal_writers() -> None:
    assert FORMAT_VERSION == JOURNAL_VERSION
