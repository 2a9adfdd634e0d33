"""docs/tables.md matches the table declarations."""

import re
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path

import msgspec

from routebook.lake.tables.common import COMMON
from routebook.lake.tables.registry import TABLES
from tools.tables_page import markdown

DOCUMENT = Path(__file__).parents[2] / "docs" / "tables.md"
# The tables and columns that users' scripts use by name
PUBLIC = {
    "broker_sessions": "ns cluster broker broker_id addr started_at ended_at end_reason planned duration_s",
    "broker_availability_daily": (
        "day ns cluster broker addr observed_s up_s availability outages planned_outages mtbf_s mttr_s"
    ),
    "broker_flaps": "ns cluster broker addr window_start window_end transitions brokers_flapping scope",
    "ns_divergence": "topic broker ns_a ns_b difference from_at to_at duration_s",
    "route_timeline": "ns topic version valid_from valid_to brokers read_queues write_queues cause",
    "convergence": "change_id topic broker first_at last_at nameservers spread_ms",
    "heartbeat_quality": "day ns broker addr beats gap_p50_ms gap_p99_ms gap_max_ms",
    "detector_tradeoff": "ns timeout_ms false_suspicions_per_broker_day mean_detection_s recommended",
    "topic_placement": "day ns cluster topic brokers write_queues read_queues skew single_broker no_master",
    "lookup_demand": "hour ns topic client language version lookups misses bytes",
    "admin_audit": "at ns peer who action target before after allowed",
    "elections": "at ns cluster broker outcome cause unclean master_id before_id master_epoch lost_at failover_s",
    "sync_state": "ns cluster broker from_at to_at duration_s master_id master_epoch in_sync out_of_sync",
    "outage_impact": "ns broker addr from_at to_at topics topics_without_broker write_queues_lost lookups_during",
}


def test_the_document_matches_the_declarations() -> None:
    # regenerate: python -m tools.tables_page > docs/tables.md
    assert DOCUMENT.read_text(encoding="utf-8") == markdown()


def test_every_public_column_is_declared() -> None:
    for name, columns in PUBLIC.items():
        section = markdown().partition(f"### gold.{name}\n")[2].partition("###")[0]
        assert [column for column in columns.split() if f"| {column} |" not in section] == []


def test_every_gold_table_is_declared_once() -> None:
    gold = [path for path in TABLES if path.startswith("gold.")]
    assert sorted(gold) == sorted(f"gold.{name}" for name in PUBLIC)


def test_every_column_has_one_sentence_and_an_example_of_its_type() -> None:
    for table in TABLES.values():
        for column in table.declared:
            where = f"{table.path}.{column.name}"
            assert re.fullmatch(r"[^|]*[^|. ]\.", column.doc), f"{where}: {column.doc!r} is not one sentence"
            assert ". " not in column.doc, f"{where}: {column.doc!r} has several sentences"
            assert column.example, f"{where} has no example"
            EXAMPLE.get(column.type, msgspec.json.decode)(column.example)


def test_every_common_meaning_is_used() -> None:
    assert COMMON.keys() <= {column.name for table in TABLES.values() for column in table.declared}


def _boolean(text: str) -> None:
    assert text in {"true", "false"}


EXAMPLE: dict[str, Callable[[str], object]] = {
    "string": str,
    "bigint": int,
    "int": int,
    "double": float,
    "boolean": _boolean,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
}
