from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.small_journals import IndexRun, Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


@pytest.fixture
def index(journal: Journal) -> Iterator[IndexRun]:
    index = IndexRun(journal)
    yield index
    index.stop()
