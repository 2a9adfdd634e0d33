"""The tables of docs/reliability.md: sums, rows, and their place on the page."""

from tests.support.reliability_table import PAGE, SUITES, Row, put, tables

ATTACK: Row = {"suite": "attacks", "what": "flood", "limits_hit": 2, "look_ups": 10, "p99_ms": 1.5}
MEMORY: Row = {"mib_before": 50, "mib_peak": 60, "mib_after": 51}
AT_ONCE: Row = {"look_ups": 1000, "p99_ms": 4.5}
CHAOS: Row = {"suite": "chaos", "what": "3", "seconds": 45, "faults": 15, "look_ups": 100, "unanswered": 5}
ROWS: list[Row] = [
    {"suite": "fuzz", "what": "frames", "inputs": 1000, "failures": 0},
    {"suite": "fuzz", "what": "frames", "inputs": 234, "failures": 1},
    ATTACK | MEMORY | {"connections": 1},
    ATTACK | MEMORY | {"connections": 3000},
    CHAOS | {"writes": 7, "broker_lives": 8, "violations": 0},
    CHAOS | {"writes": 7, "broker_lives": 8, "violations": 0},
    {"suite": "kills", "what": "writer", "kills": 1000, "interrupted": 15, "writes": 2000, "lost": 0},
    {"suite": "costs", "what": "bomb", "cpu_s": 0.02, "cpu_limit_s": 0.1, "mib": 1.5, "mib_limit": 64},
    {"suite": "costs", "what": "writes", "loop_cpu_s": 0.01, "cpu_limit_s": 0.5},
    {"suite": "all at once", "what": "12 attacks", "seconds": 600.0, "sent": 9, "cpu_s": 3.5, **MEMORY, **AT_ONCE},
    {"suite": "beside java", "what": "105", "routebook_ms": 0.1, "java_ms": 0.2},
    {"suite": "chaos faults", "what": "SIGSTOP", "injected": 2},
    {"suite": "chaos faults", "what": "SIGSTOP", "injected": 1},
]


def test_figures_are_summed() -> None:
    made = "\n".join(tables(ROWS).values())
    assert "| frames | 1,234 | 1 |" in made
    assert "| **in all** | **1,234** | **1** |" in made
    assert "| flood | 3,000 connections | 2 | all 10 | 1.5 ms | 50, 60, 51 MiB |" in made
    assert "| faults injected | 30 of 1 kinds |" in made
    assert "SIGSTOP 3." in made
    assert "| 105 | 0.1 ms | 0.2 ms |" in made
    assert "| bomb | 0.02 s | 0.1 s | 1.5 MiB | 64 MiB |" in made
    assert "| look-ups answered meanwhile, p99 | all 1,000, 4.5 ms |" in made
    assert "| writer | 1,000 | 15 | 2,000 | 0 |" in made
    assert "**violations** of the four promises | **0** |" in made


def test_each_table_has_a_place_on_the_page_and_others_stay() -> None:
    page = PAGE.read_text()
    changed = put(page, dict.fromkeys(SUITES, "xyz"))
    assert changed.count("xyz") == len(SUITES)
    assert put(changed, {"kills": "abc"}).count("xyz") == len(SUITES) - 1
    assert put(page, {}) == page
