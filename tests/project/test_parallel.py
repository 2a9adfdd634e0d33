"""Distribution of tests over processes: shared resources stay together, and long files start first."""

from pathlib import Path
from typing import Final

import pytest

from tests.support.parallel import GROUPS, LONGEST_FIRST, group_of, start_rank

ROOT: Final = Path(__file__).parents[2]


def test_a_file_runs_in_one_process() -> None:
    assert group_of("tests/unit/test_kv.py::test_a[x::y]") == group_of("tests/unit/test_kv.py::TestB::test_c")
    assert group_of("tests/unit/test_kv.py::test_a") != group_of("tests/unit/test_sse.py::test_a")


def test_files_with_a_shared_resource_run_in_one_process() -> None:
    assert group_of("tests/lake/test_cases.py::test_a") == group_of("tests/lake/test_ingest.py::test_b") == "spark"


def test_long_files_start_first() -> None:
    nodes = ["tests/unit/test_kv.py::test_a", "tests/e2e/test_up.py::test_a", "tests/lake/test_cases.py::test_a"]
    assert sorted(nodes, key=start_rank) == nodes[::-1]


@pytest.mark.parametrize("path", [*GROUPS, *LONGEST_FIRST])
def test_the_tables_name_existing_paths(path: str) -> None:
    assert (ROOT / path).exists()
