"""Marks of decommissioned brokers as rows."""

from datetime import UTC, datetime

from routebook.lake.build.retire import Mark
from routebook.lake.tables.ddl import columns_of
from routebook.lake.tables.meta import RETIRED


def test_a_mark_is_a_row_of_its_table() -> None:
    mark = Mark(broker="a", retired_at=datetime(2026, 1, 1, tzinfo=UTC))
    assert mark.row().keys() == {name for name, _ in columns_of(RETIRED.columns)}
