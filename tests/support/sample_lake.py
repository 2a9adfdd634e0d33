"""A sample lake: two clusters, three NameServers, two weeks with outages, flapping brokers and disagreements."""

import math
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.iceberg_lake import IcebergLake

END = datetime(2026, 3, 15, 9, 30, tzinfo=UTC)
DAYS = 14
FIRST = datetime(2026, 3, 2, tzinfo=UTC)
NAMESERVERS = ("ns-1", "ns-2", "ns-3")
CLUSTERS = {"orders": 8, "payments": 6}
GONE = ("orders-b-3", datetime(2026, 3, 9, 3, 12, tzinfo=UTC), datetime(2026, 3, 9, 4, 42, tzinfo=UTC))
Row = dict[str, Any]


def sample_lake(path: Path) -> IcebergLake:
    """A published lake with all tables that reports read."""
    lake = IcebergLake(path)
    chance = random.Random(7)
    brokers = [
        (cluster, f"{cluster}-b-{number}", f"10.0.{at}.{number}:10911")
        for at, (cluster, count) in enumerate(CLUSTERS.items())
        for number in range(1, count + 1)
    ]
    downs = _downs(brokers, chance)
    lake.write("silver.observed", [_observed(ns) for ns in NAMESERVERS])
    lake.write("silver.broker_spans", [row for ns in NAMESERVERS for row in _spans(ns, brokers, downs)])
    lake.write("gold.broker_availability_daily", [row for ns in NAMESERVERS for row in _daily(ns, brokers, downs)])
    lake.write("gold.outage_impact", [row for ns in NAMESERVERS for row in _impacts(ns, brokers, downs)])
    lake.write(
        "gold.broker_flaps", [_flap("ns-2", brokers[9], "broker", 1), _flap("ns-3", brokers[2], "nameserver", 6)]
    )
    lake.write("gold.ns_divergence", _divergence(brokers))
    lake.write("gold.convergence", [_change(number, chance) for number in range(400)])
    lake.write("gold.detector_tradeoff", _tradeoff())
    quality = [_quality(ns, one, chance) for ns in NAMESERVERS for one in brokers]
    moved = quality[0] | {
        "day": END.date() - timedelta(days=1),
        "addr": "10.9.9.9:10911",
    }  # its address of the day before
    lake.write("gold.heartbeat_quality", [*quality, moved])
    lake.write("gold.topic_placement", [_placed(number, chance) for number in range(60)])
    lake.write("gold.lookup_demand", _demand(chance))
    lake.write("gold.admin_audit", _audit())
    lake.write("gold.elections", _elections())
    lake.write("gold.sync_state", _sync_state())
    lake.publish(build_id="20260315T093100-1", at=END + timedelta(minutes=1), events=123_456)
    return lake


Downs = dict[str, list[tuple[datetime, datetime | None, str, bool]]]


def _downs(brokers: list[tuple[str, str, str]], chance: random.Random) -> Downs:
    found: Downs = {broker: [] for _, broker, _ in brokers}
    found[GONE[0]].append((GONE[1], GONE[2], "expired", False))
    found["orders-b-5"].append((END - timedelta(hours=5), None, "closed", False))
    for _, broker, _ in brokers[::3]:
        begin = FIRST + timedelta(days=chance.uniform(2, 11))
        found[broker].append((begin, begin + timedelta(minutes=chance.uniform(2, 50)), "unregistered", True))
    for _ in range(9):
        begin = FIRST + timedelta(days=chance.uniform(0, 12))
        _, broker, _ = chance.choice(brokers)
        found[broker].append((begin, begin + timedelta(minutes=chance.uniform(1, 200)), "expired", False))
    return {broker: sorted(those, key=lambda one: one[0]) for broker, those in found.items()}


def _observed(ns: str) -> Row:
    return {"ns": ns, "boot": "b", "from_seq": 1, "from_at": FIRST, "seen_until": END, "recovered": 0, "cold": False}


def _spans(ns: str, brokers: list[tuple[str, str, str]], downs: Downs) -> list[Row]:
    rows: list[Row] = []
    for cluster, broker, addr in brokers:
        base = {
            "ns": ns,
            "cluster": cluster,
            "broker": broker,
            "addr": addr,
            "broker_id": 0,
            "first_id": 0,
            "member": 1,
        }
        at: datetime | None = FIRST
        for begin, end, reason, planned in downs[broker]:
            if at is not None and begin > at:
                rows.append(
                    {**base, "state": "up", "from_at": at, "to_at": begin, "from_seq": len(rows), "ended": reason}
                )
                ended = "returned" if end is not None else None
                rows.append(
                    {**base, "state": "down", "from_at": begin, "to_at": end, "planned": planned, "ended": ended}
                )
                at = end
        if at is not None:
            rows.append({**base, "state": "up", "from_at": at, "to_at": None})
    return rows


def _daily(ns: str, brokers: list[tuple[str, str, str]], downs: Downs) -> list[Row]:
    rows: list[Row] = []
    spans = _spans(ns, brokers, downs)
    for cluster, broker, addr in brokers:
        mine = [row for row in spans if row["broker"] == broker]
        for number in range(DAYS):
            begin = FIRST + timedelta(days=number)
            end = min(begin + timedelta(days=1), END)
            if broker == "payments-b-6" and number < 4:
                continue  # it came later
            seconds = {
                state: sum(_overlap(row, begin, end) for row in mine if row["state"] == state)
                for state in ("up", "down")
            }
            began = [row for row in mine if row["state"] == "down" and begin <= row["from_at"] < end]
            seen = seconds["up"] + seconds["down"]
            planned_s = sum(_overlap(row, begin, end) for row in mine if row["state"] == "down" and row["planned"])
            rows.append(
                {
                    "day": begin.date(),
                    "ns": ns,
                    "cluster": cluster,
                    "broker": broker,
                    "addr": addr,
                    "observed_s": seen,
                    "up_s": seconds["up"],
                    "down_s": seconds["down"],
                    "planned_down_s": planned_s,
                    "unplanned_down_s": seconds["down"] - planned_s,
                    "protected_s": 0.0,
                    "broker_id": 0,
                    "availability": seconds["up"] / seen,
                    "outages": sum(not row["planned"] for row in began),
                    "planned_outages": sum(row["planned"] for row in began),
                }
            )
    return rows


def _overlap(row: Row, begin: datetime, end: datetime) -> float:
    length: timedelta = min(row["to_at"] or END, end) - max(row["from_at"], begin)
    return max(0.0, length.total_seconds())


def _impacts(ns: str, brokers: list[tuple[str, str, str]], downs: Downs) -> list[Row]:
    rows: list[Row] = []
    late = timedelta(seconds=NAMESERVERS.index(ns))
    for cluster, broker, addr in brokers:
        for begin, end, reason, planned in downs[broker]:
            orphans = ["invoices", "refunds"] if broker == GONE[0] else []
            rows.append(
                {
                    "ns": ns,
                    "broker": broker,
                    "addr": addr,
                    "from_at": begin + late,
                    "to_at": None if end is None else end + late,
                    "topics": 14,
                    "topics_without_broker": len(orphans),
                    "write_queues_lost": 112,
                    "lookups_during": 431,
                    "cluster": cluster,
                    "reason": reason,
                    "planned": planned,
                    "orphans": orphans,
                    "broker_id": 0,
                    "member": 1,
                    "retired": False,
                    "ended": None if end is None else "returned",
                    "last_seen_at": begin + late - timedelta(seconds=125 if reason == "expired" else 0),
                }
            )
    return rows


def _flap(ns: str, broker: tuple[str, str, str], scope: str, brokers: int) -> Row:
    begin = END - timedelta(days=3)
    return {
        "ns": ns,
        "cluster": broker[0],
        "broker": broker[1],
        "addr": broker[2],
        "window_start": begin,
        "window_end": begin + timedelta(minutes=10),
        "transitions": 9,
        "brokers_flapping": brokers,
        "kind": "flap",
        "scope": scope,
        "day": begin.date(),
    }


def _divergence(brokers: list[tuple[str, str, str]]) -> list[Row]:
    def row(a: str, b: str, hours: float, minutes: float | None, what: str, broker: str, topic: str | None) -> Row:
        begin = FIRST + timedelta(hours=hours)
        end = None if minutes is None else begin + timedelta(minutes=minutes)
        length = None if minutes is None else minutes * 60.0
        return {
            "topic": topic,
            "broker": broker,
            "ns_a": a,
            "ns_b": b,
            "difference": what,
            "from_at": begin,
            "to_at": end,
            "duration_s": length,
        }

    return [
        row("ns-1", "ns-3", 40, 95, "missing_b", "orders-b-2", None),
        row("ns-2", "ns-3", 40, 95, "missing_b", "orders-b-2", None),
        row("ns-1", "ns-2", 200, 12, "queues", "payments-b-1", "refunds"),
        row("ns-1", "ns-3", 290, None, "permission", "payments-b-2", "invoices"),
    ]


def _change(number: int, chance: random.Random) -> Row:
    begin = FIRST + timedelta(hours=chance.uniform(0, 300))
    spread = int(chance.expovariate(1 / 400))
    return {
        "change_id": f"c{number}",
        "change": "broker_up",
        "broker": "orders-b-1",
        "first_at": begin,
        "last_at": begin + timedelta(milliseconds=spread),
        "nameservers": 3,
        "spread_ms": spread,
    }


def _tradeoff() -> list[Row]:
    rows: list[Row] = []
    for cluster, scale in (("orders", 8.0), ("payments", 14.0)):
        for seconds in (10, 15, 20, 30, 45, 60, 90, 120, 180, 300):
            alarms = 40 * math.exp(-seconds / scale)
            rows.append(
                {
                    "ns": "ns-1",
                    "cluster": cluster,
                    "detector": "timeout",
                    "candidate": float(seconds),
                    "timeout_ms": seconds * 1000,
                    "false_suspicions_per_broker_day": alarms if alarms > 1e-4 else 0.0,
                    "mean_detection_s": seconds - 7.5,
                    "recommended": seconds == (90 if cluster == "orders" else 180),
                    "reason": "the shortest with less than one false alarm per broker and month",
                }
            )
    return rows


def _quality(ns: str, broker: tuple[str, str, str], chance: random.Random) -> Row:
    p99 = int(30_000 + chance.expovariate(1 / 2500))
    return {
        "day": END.date(),
        "ns": ns,
        "cluster": broker[0],
        "broker": broker[1],
        "addr": broker[2],
        "beats": 2880,
        "gap_p50_ms": 30_000,
        "gap_p99_ms": p99,
        "gap_max_ms": p99 * 2,
        "broker_id": 0,
    }


def _placed(number: int, chance: random.Random) -> Row:
    single = number % 11 == 0
    return {
        "day": END.date(),
        "ns": "ns-1",
        "cluster": "orders" if number % 3 else "payments",
        "topic": f"topic-{number:02}",
        "brokers": 1 if single else 4,
        "write_queues": 8 if single else 32,
        "read_queues": 8 if single else 32,
        "skew": 1.0 if single else round(1 + chance.expovariate(4), 3),
        "single_broker": single,
        "no_master": number == 22,
    }


def _demand(chance: random.Random) -> list[Row]:
    rows: list[Row] = []
    for hours in range(24 * DAYS - 15):
        hour = FIRST + timedelta(hours=hours)
        busy = 1 + math.sin((hour.hour - 6) / 24 * 2 * math.pi)
        rows += [
            {
                "hour": hour,
                "ns": "ns-1",
                "topic": f"topic-{number:02}",
                "client": f"10.1.0.{number}",
                "language": "JAVA" if number else "GO",
                "version": 513 if number else 317,
                "lookups": int(400 * busy / (number + 1) * chance.uniform(0.8, 1.2)) + 10,
                "misses": 12 if number == 3 else 0,
                "bytes": int(90_000 * busy),
                "others": False,
                "day": hour.date(),
            }
            for number in range(4)
        ]
    return rows


def _audit() -> list[Row]:
    at = END - timedelta(days=1)
    return [
        {
            "at": at,
            "ns": "ns-1",
            "peer": "10.9.0.1:50123",
            "who": "ops",
            "action": "wipe_write_permission",
            "target": "orders-b-3",
            "allowed": True,
            "day": at.date(),
            "seq": 1,
        },
        {
            "at": at + timedelta(hours=1),
            "ns": "ns-2",
            "peer": "10.9.0.7:50900",
            "action": "kv_put",
            "target": "shop/open",
            "before": "yes",
            "after": "<b>no</b>",
            "allowed": True,
            "day": at.date(),
            "seq": 2,
        },
        {
            "at": at + timedelta(hours=2),
            "ns": "ns-2",
            "peer": "10.9.0.66:1",
            "action": "update_settings",
            "target": "318",
            "allowed": False,
            "day": at.date(),
            "seq": 3,
        },
    ]


def _elections() -> list[Row]:
    """`orders-b-1` fails over twice, `payments-b-1` is lost, returns unclean after 20 min, and is lost again."""
    first = FIRST + timedelta(hours=1)

    def row(broker: str, seq: int, at: datetime, cause: str, **more: Any) -> Row:
        lost_at = more.get("lost_at")
        elected = more.get("master_id") is not None
        return {
            "at": at,
            "ns": "ns-1",
            "cluster": broker.partition("-")[0],
            "broker": broker,
            "outcome": "elected" if elected else "no_master",
            "cause": cause,
            "unclean": False,
            "addr": "10.9.0.1:10911" if elected else None,
            "before_id": None,
            "before_addr": None,
            "master_epoch": seq,
            "lost_at": None,
            "failover_s": (at - lost_at).total_seconds() if elected and lost_at else None,
            "in_sync": [1],
            "before_in_sync": [1],
            "candidates": 2,
            "candidates_alive": 1,
            "who": None,
            "peer": None,
            "day": at.date(),
            "seq": seq,
            "master_id": None,
            **more,
        }

    day = timedelta(days=1)
    lost = first + 3 * day
    return [
        row("orders-b-1", 1, first, "first", master_id=1),
        row(
            "orders-b-1",
            2,
            first + day + timedelta(milliseconds=400),
            "closed",
            master_id=2,
            before_id=1,
            lost_at=first + day,
        ),
        row(
            "orders-b-1",
            3,
            first + 2 * day + timedelta(seconds=12),
            "expired",
            master_id=1,
            before_id=2,
            lost_at=first + 2 * day,
        ),
        row("payments-b-1", 4, first, "first", master_id=1),
        row("payments-b-1", 5, lost + timedelta(seconds=10), "expired", before_id=1, lost_at=lost),
        row("payments-b-1", 6, lost + timedelta(minutes=20), "broker", master_id=2, unclean=True, lost_at=lost),
        row("payments-b-1", 7, END - timedelta(minutes=30), "closed", before_id=2, lost_at=END - timedelta(minutes=30)),
    ]


def _sync_state() -> list[Row]:
    def row(broker: str, seq: int, begin: datetime, end: datetime | None, **more: Any) -> Row:
        return {
            "ns": "ns-1",
            "cluster": broker.partition("-")[0],
            "broker": broker,
            "from_at": begin,
            "to_at": end,
            "duration_s": None if end is None else (end - begin).total_seconds(),
            "master_id": 1,
            "master_epoch": 1,
            "sync_state_epoch": seq,
            "in_sync": [1, 2],
            "out_of_sync": [],
            "replicas": 2,
            "from_seq": seq,
            "to_seq": None if end is None else seq + 1,
            **more,
        }

    late = END - timedelta(hours=2)
    gone = END - timedelta(minutes=30)
    return [
        row("orders-b-1", 10, FIRST + timedelta(hours=1), late),
        row("orders-b-1", 11, late, None, in_sync=[1], out_of_sync=[2]),
        row("payments-b-1", 12, FIRST + timedelta(hours=1), gone),
        row("payments-b-1", 13, gone, None, master_id=None, master_epoch=7),
    ]
