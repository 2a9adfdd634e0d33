"""The results table of third-party programs."""

from tests.interop.programs.table import BEGIN, END, put, table

FORMER = table([["Rust SDK", "1.0.0", "round trip", "works; 3 s"]], "2026-01-01")


def test_a_scenario_that_did_not_run_keeps_its_last_date() -> None:
    assert table([["Rust SDK", "1.0.0", "round trip", "not run"]], "2026-02-02", former=FORMER) == FORMER


def test_a_scenario_that_never_ran_is_marked_not_run() -> None:
    made = table([["Go SDK", "2.1.2", "round trip", "not run"]], "2026-02-02", former=FORMER)
    assert made.splitlines()[2] == "| Go SDK | 2.1.2 | round trip | not run | 2026-02-02 |"


def test_a_failed_scenario_is_marked() -> None:
    made = table([["Rust SDK", "1.0.0", "round trip", "FAILS"]], "2026-02-02", former=FORMER)
    assert made.splitlines()[2] == "| Rust SDK | 1.0.0 | round trip | FAILS | 2026-02-02 |"


def test_a_part_of_the_tests_changes_its_own_rows() -> None:
    page = f"{BEGIN}\n{FORMER}\n{END}"
    rows = [["Go SDK", "2.1.2", "round trip", "works"]]
    assert table(rows, "2026-02-02", former=page).splitlines()[2:] == [
        "| Go SDK | 2.1.2 | round trip | works | 2026-02-02 |"
    ]
    assert table(rows, "2026-02-02", former=page, part=True).splitlines()[2:] == [
        "| Go SDK | 2.1.2 | round trip | works | 2026-02-02 |",
        "| Rust SDK | 1.0.0 | round trip | works; 3 s | 2026-01-01 |",
    ]


def test_the_table_replaces_the_text_between_its_markers() -> None:
    page = f"before\n{BEGIN}\n{FORMER}\n{END}\nafter\n"
    assert put(page, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
