"""Ingest: every event is stored once, and lines that are not events are quarantined with their location."""

import os
import shutil
from pathlib import Path

import pytest

from routebook.lake.build.bronze.counts import Counts
from routebook.lake.build.bronze.holes import NO_SEGMENT
from routebook.lake.build.outcome import Stage
from tests.support.lake import SparkLake, line, numbered, write_open, write_rolled


def reconciled(counts: Counts) -> Counts:
    assert counts.read == counts.events + counts.duplicates + counts.quarantined + counts.conflicts
    return counts


@pytest.mark.slow
def test_open_rolled_and_copied_segments_add_every_event_once(small_lake: SparkLake, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    pipeline = small_lake.pipeline()
    open_segment = write_open(journal, 1, numbered("n", range(1, 6)), unfinished='{"v":1,"ns":"n","se')
    first = reconciled(pipeline.build([str(journal)]).counts)
    assert (first.events, first.quarantined) == (5, 0), "an incomplete last line is not an error"

    write_open(journal, 1, numbered("n", range(1, 9)))
    second = reconciled(pipeline.build([str(journal)]).counts)
    assert (second.events, second.duplicates) == (3, 5)

    open_segment.unlink()
    rolled = write_rolled(journal, 1, 10, numbered("n", range(1, 11)))
    third = reconciled(pipeline.build([str(journal)]).counts)
    assert (third.events, third.duplicates) == (2, 8)

    backup = tmp_path / "backup"
    backup.mkdir()
    shutil.copy(rolled, backup / "copy.jsonl.zst")
    write_rolled(backup, 11, 12, numbered("n", [11, 12, 12]))
    shutil.copy(next(backup.glob("*-*")), backup / "other.jsonl.zst")
    fourth = reconciled(small_lake.pipeline().build([str(journal), str(backup)]).counts)
    assert (fourth.events, fourth.duplicates) == (2, 14)
    assert small_lake.numbers("n") == list(range(1, 13))
    assert pipeline.build([str(journal), str(backup)]).build_id is None, "nothing is new"


def test_a_segment_rolled_between_listing_and_reading(small_lake: SparkLake, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    pipeline = small_lake.pipeline()
    open_segment = write_open(journal, 1, numbered("n", range(1, 6)))

    def roll(stage: Stage) -> None:
        if stage.unit == "segments" and open_segment.exists():
            write_rolled(journal, 1, 5, numbered("n", range(1, 6)))
            open_segment.unlink()

    pipeline.add_listener(roll)
    assert reconciled(pipeline.build([str(journal)]).counts).events == 5
    assert not open_segment.exists()


def test_invalid_lines_are_quarantined_with_their_location(small_lake: SparkLake, tmp_path: Path) -> None:
    good = numbered("n", range(1, 20))
    lines = [
        good[0],
        "nonsense",
        '["an array"]',
        "",
        good[1].replace('"ns":"n",', ""),
        good[1].replace('"seq":2', '"seq":"2"'),
        good[1].replace('"v":1', '"v":2'),
        good[1].replace('"at":', '"at":9999999999999999, "x":'),
        line("n", 3, "broker_down", cluster="C"),
        line("n", 4, "heartbeat_minute", cluster="C", broker="b", addr="a", minute_ms=0, count="many"),
        good[4] + good[5],
        line("n", 7, "future_kind", count="many"),
        good[7],
    ]
    path = write_rolled(tmp_path, 1, 8, lines)
    other = write_rolled(tmp_path, 9, 11, good[8:11])
    counts = reconciled(small_lake.pipeline().build([str(tmp_path)]).counts)
    assert small_lake.quarantine() == [
        (path.name, 2, "not JSON"),
        (path.name, 3, "not an object"),
        (path.name, 4, "an empty line"),
        (path.name, 5, "no ns, or of another type"),
        (path.name, 6, "no seq, or of another type"),
        (path.name, 7, "format version 2, and this release reads 1"),
        (path.name, 8, "at is not a time"),
        (path.name, 9, "broker_down without broker"),
        (path.name, 10, "heartbeat_minute: a field is of another type"),
        (path.name, 11, "not JSON: there is text after the object"),
    ]
    assert other.exists()
    assert counts.other_version == 1
    assert small_lake.numbers("n") == [1, 5, 7, 8, 9, 10, 11]
    raw = [row for row in small_lake.rows("bronze.events", "seq", "kind", "raw") if row[2] is not None]
    assert raw == [(7, "future_kind", lines[11])]
    again = reconciled(small_lake.pipeline().build([str(tmp_path)]).counts)
    assert again.read == 0
    assert len(small_lake.quarantine()) == 10


@pytest.mark.slow
def test_damaged_files_are_read_up_to_the_damage_and_again_when_repaired(small_lake: SparkLake, tmp_path: Path) -> None:
    many = numbered("n", range(1, 3001))
    cut = write_rolled(
        tmp_path, 1, 3000, [*many[:2999], line("n", 3000, key=os.urandom(60_000).hex(), before="", after="")]
    )
    whole = cut.read_bytes()
    cut.write_bytes(whole[:-20_000])
    noise = tmp_path / f"{1:020}-{2:020}-1-2.noise.jsonl.zst"
    noise.write_bytes(os.urandom(3000))
    write_rolled(tmp_path, 3001, 3002, numbered("n", [3001, 3002]))
    outcome = small_lake.pipeline().build([str(tmp_path)])
    counts = reconciled(outcome.counts)
    assert counts.damaged_files == 2
    files = {file: reason for file, number, reason in small_lake.quarantine() if number == 0}
    assert set(files) == {cut.name, noise.name}
    assert "Truncated source" in files[cut.name]
    assert {3001, 3002} <= set(small_lake.numbers("n"))

    cut.write_bytes(whole)
    reconciled(small_lake.pipeline().build([str(tmp_path)]).counts)
    assert small_lake.numbers("n") == list(range(1, 3003))


def test_gaps_are_recorded_with_their_reason(small_lake: SparkLake, tmp_path: Path) -> None:
    hole = line("n", 21, "journal_hole", first_missing=11, last_missing=20, count=10, why="crash", certain=False)
    write_rolled(tmp_path, 1, 5, numbered("n", range(1, 6)))
    write_rolled(tmp_path, 8, 22, [*numbered("n", range(8, 11)), hole, *numbered("n", [22])])
    pipeline = small_lake.pipeline()
    outcome = pipeline.build([str(tmp_path)])
    assert small_lake.rows("meta.holes") == [("n", 11, 20, "crash", False), ("n", 6, 7, NO_SEGMENT, True)]
    assert (outcome.holes, outcome.missing) == (2, 2)

    write_rolled(tmp_path, 6, 7, numbered("n", [6, 7]))  # it was late
    pipeline.build([str(tmp_path)])
    assert small_lake.rows("meta.holes") == [("n", 11, 20, "crash", False)]


@pytest.mark.slow
def test_folder_names_with_special_characters(small_lake: SparkLake, tmp_path: Path) -> None:
    names = ["with space", "a{b,c}", "100%", "plus+[x]", "plain"]
    folders = [tmp_path / name for name in names]
    for name, folder in zip(names, folders, strict=True):
        write_rolled(folder, 1, 2, [*numbered(name, [1, 2]), "nonsense"])
        write_open(folder, 3, numbered(name, [3]))
    journals = [str(folder) for folder in folders]
    counts = small_lake.pipeline().build(journals).counts
    assert (counts.events, counts.quarantined) == (3 * len(names), len(names))
    quarantined = {file for (file,) in small_lake.rows("bronze.quarantine", "file")}
    assert {path.rpartition("/")[0].rpartition("/")[2] for path in quarantined} == set(names)
    assert small_lake.pipeline().build(journals).counts.quarantined == 0
