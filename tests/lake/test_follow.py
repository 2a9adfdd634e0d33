"""`follow` reports its activity, the size of the lake and its backlog in `status.json`."""

from pathlib import Path

import pytest

from routebook.lake.build import follow
from routebook.lake.build.follow import Follower
from routebook.lake.status import State, Status, read_status, write_status
from tests.support.lake import SparkLake, numbered, write_rolled


def test_a_pass_reports_progress_and_backlog(
    small_lake: SparkLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "journal"
    write_rolled(journal, 1, 40, numbered("n", range(1, 41)))
    statuses: list[Status] = []

    def note(lake: Path, status: Status) -> None:
        statuses.append(status)
        write_status(lake, status)

    monkeypatch.setattr(follow, "write_status", note)
    complaints: list[str] = []
    follower = Follower(
        small_lake.pipeline(),
        folder=small_lake.home,
        journals=lambda: [str(journal)],
        lock=None,
        on_build=lambda _: None,
        on_error=complaints.append,
    )
    assert follower.one_pass(), complaints

    reading, read = (one for one in statuses if one.says.startswith("reading"))
    assert (reading.state, reading.behind_segments, reading.behind_rows) == (State.BUILDING, 1, 0)
    assert (read.says, read.behind_segments, read.behind_rows) == ("reading: 1 of 1 segments", 0, 40)
    assert any(one.says == "silver.observed: 0 of 1 tables" and one.behind_rows == 40 for one in statuses)
    last = read_status(small_lake.home)
    assert last is not None
    assert (last.state, last.events, last.behind_segments, last.behind_rows) == (State.FOLLOWING, 40, 0, 0)
    assert last.build_id is not None
