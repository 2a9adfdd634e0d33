"""Ingest of empty files, conflicting events and large events: the rest is published, and the result names them."""

import shutil
from pathlib import Path

import pytest

from routebook.cli.lake.session import print_outcome
from routebook.lake.build.bronze.quarantine import Quarantined
from routebook.lake.build.outcome import Outcome
from tests.support.lake import SparkLake, line, numbered, write_open, write_rolled

LARGE = 50_000_000


def test_an_empty_file_is_reported_and_the_rest_is_published(
    small_lake: SparkLake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_rolled(tmp_path, 1, 3, numbered("n", range(1, 4)))
    empty = write_rolled(tmp_path, 4, 5, [])
    empty.write_bytes(b"")
    write_rolled(tmp_path, 6, 6, numbered("n", [6]))
    write_open(tmp_path, 7, [])  # a new segment without lines is normal
    pipeline = small_lake.pipeline()
    first = pipeline.build([str(tmp_path)])
    assert first.build_id is not None
    assert small_lake.numbers("n") == [1, 2, 3, 6]
    assert small_lake.quarantine() == [(empty.name, 0, "an empty file")]
    [(_, first_missing, last_missing, why, _)] = small_lake.rows("meta.holes")
    assert (first_missing, last_missing) == (4, 5)
    assert empty.name in why
    assert first.new_in_quarantine == Quarantined(damaged_files=1)
    assert print_outcome(first, as_json=False) == 1

    second = small_lake.pipeline().build([str(tmp_path)])
    assert (second.build_id, second.quarantine) == (None, Quarantined(damaged_files=1))
    capsys.readouterr()
    assert print_outcome(second, as_json=False) == 0
    warned = capsys.readouterr().err.splitlines()
    assert warned == [
        "routebook: warning: quarantined: 1 damaged files; see bronze.quarantine",
        "routebook: warning: missing: 2 events in 1 holes; see meta.holes",
    ]
    assert print_outcome(second, as_json=False, strict=True) == 1


def test_the_same_number_with_other_content_is_a_conflict(
    small_lake: SparkLake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A home folder was copied, and both copies ran: they agree up to event 3."""
    first, second = tmp_path / "first", tmp_path / "second"
    write_rolled(first, 1, 5, numbered("n", range(1, 6)))
    shutil.copytree(first, second)
    other = [line("n", seq, key="k", before="other", after=str(seq)) for seq in (4, 5)]
    copy = next(second.iterdir())
    copy.unlink()
    write_rolled(second, 1, 5, [*numbered("n", range(1, 4)), *other])
    open_copy = write_open(second, 6, [line("n", 6, key="k", before="other", after="6")])
    write_open(first, 6, numbered("n", [6]))
    pipeline = small_lake.pipeline()
    assert pipeline.build([str(first)]).counts.conflicts == 0

    outcome = pipeline.build([str(first), str(second)])
    check_counts(outcome, events=0, conflicts=3)
    rows = small_lake.rows("bronze.quarantine", "file", "line", "reason", "ns", "seq")
    assert [(file.rpartition("/")[2], number, ns, seq) for file, number, _, ns, seq in rows] == [
        (copy.name, 4, "n", 4),
        (copy.name, 5, "n", 5),
        (open_copy.name, 1, "n", 6),
    ]
    assert all(f"{first}/" in reason and "setting_changed of 2026-01-01T00:0" in reason for _, _, reason, _, _ in rows)
    assert print_outcome(outcome, as_json=True) == 1
    assert '"conflicts":3' in capsys.readouterr().out

    write_open(second, 6, [line("n", seq, key="k", before="other", after=str(seq)) for seq in (6, 7)])
    grown = pipeline.build([str(first), str(second)])
    check_counts(grown, events=1, conflicts=0)
    write_open(first, 6, numbered("n", [6, 7]))
    late = pipeline.build([str(first), str(second)])
    check_counts(late, events=0, conflicts=1)
    again = small_lake.pipeline().build([str(first), str(second)])
    check_counts(again, events=0, conflicts=0)
    assert again.quarantine == Quarantined(conflicts=4)


def test_conflicting_lines_of_one_batch_are_found(small_lake: SparkLake, tmp_path: Path) -> None:
    write_rolled(
        tmp_path, 1, 3, [*numbered("n", [1, 2]), line("n", 2, key="k", before="", after=""), *numbered("n", [3])]
    )
    outcome = small_lake.pipeline().build([str(tmp_path)])
    check_counts(outcome, events=3, conflicts=1)
    assert small_lake.numbers("n") == [1, 2, 3]


def check_counts(outcome: Outcome, *, events: int, conflicts: int) -> None:
    counts = outcome.counts
    assert counts.read == counts.events + counts.duplicates + counts.quarantined + counts.conflicts
    assert (counts.events, counts.conflicts) == (events, conflicts)


@pytest.mark.slow
def test_an_event_that_is_too_large_is_named_and_explains_its_hole(small_lake: SparkLake, tmp_path: Path) -> None:
    large = line("n", 2, key="k", before="", after="x" * LARGE)
    path = write_rolled(tmp_path, 1, 3, [*numbered("n", [1]), large, *numbered("n", [3])])
    outcome = small_lake.pipeline().build([str(tmp_path)])
    assert small_lake.numbers("n") == [1, 3]
    [(file, number, reason)] = small_lake.quarantine()
    assert (file, number) == (path.name, 2)
    assert reason.startswith(f"{len(large)} bytes: a field of more than 20000000 characters")
    [(_, first_missing, last_missing, why, certain)] = small_lake.rows("meta.holes")
    assert (first_missing, last_missing, certain) == (2, 2, True)
    assert why.startswith(f"quarantined: {len(large)} bytes")
    assert "line 2" in why
    assert outcome.missing == 1


@pytest.mark.slow
def test_an_event_of_50_mb_with_many_fields_is_read(small_lake: SparkLake, tmp_path: Path) -> None:
    topics = {f"{'t' * 100}{number}": (6, 8, 8, 0) for number in range(LARGE // 100)}
    large = line("n", 2, "topics_changed", broker="a", cause="registration", added=topics)
    assert len(large) > LARGE
    write_rolled(tmp_path, 1, 3, [*numbered("n", [1]), large, *numbered("n", [3])])
    outcome = small_lake.pipeline().build([str(tmp_path)])
    assert (small_lake.numbers("n"), small_lake.quarantine(), outcome.missing) == ([1, 2, 3], [], 0)
