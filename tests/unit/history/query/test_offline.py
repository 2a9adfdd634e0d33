"""History queries without a running server."""

from pathlib import Path

import pytest

from routebook.errors import HistoryError
from routebook.history.query.offline import open_offline
from tests.support.small_journals import STARTED, IndexRun, Journal, added, broker_names, route_at, up


def test_offline_queries_do_not_change_the_home(journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    before = sorted(path.name for path in journal.home.rglob("*"))
    assert broker_names(route_at(journal, "T", 1)) == ["a"]
    assert sorted(path.name for path in journal.home.rglob("*")) == before


def test_offline_completes_a_copy_of_an_outdated_index(index: IndexRun, journal: Journal) -> None:
    journal.write(0, STARTED, up(), added("T"))
    index.catch_up()
    journal.files.remove(journal.files.names()[0])  # now only in the index
    journal.write(1, added("U"))
    before = index.path.read_bytes()
    assert broker_names(route_at(journal, "T", 1)) == ["a"]
    assert broker_names(route_at(journal, "U", 1)) == ["a"]
    assert index.path.read_bytes() == before


def test_offline_without_a_journal_raises_history_error(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="journal is empty"), open_offline(tmp_path):
        pass
