"""A second comparator of a lake with the ground truth of a simulated fleet, written from docs/tables.md.

It uses neither the code that builds the tables nor the structs of the simulator: rows as DuckDB returns them, the lines
of truth.jsonl as dicts, and the definitions in the documents. Times are in ms. `compare` returns one line per
disagreement: a fault that the lake lacks, a row that no fault explains, or a figure out of its bounds.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

Row = dict[str, Any]
Tables = dict[str, list[Row]]

TABLES = (
    "outage_impact",
    "broker_sessions",
    "broker_availability_daily",
    "broker_flaps",
    "ns_divergence",
    "convergence",
)
PROPAGATION_MS = 120_000  # ns_divergence: a difference that lasted at least 120 s
FLAP_UP_MS = 180_000  # broker_flaps: never up for more than three minutes in between
FLAP_OUTAGES = 3
START_MS = 60_000  # the fleet starts in the first minute
ROUNDING_S = 0.002
PLANNED = {"unregistered", "deregistered"}


class Outage(NamedTuple):
    """An outage that a fault must (`certain`) or may cause, with the ranges of its begin and end."""

    ns: str
    addr: str
    reasons: frozenset[str]
    down: tuple[int, int]
    up: tuple[int, int]
    certain: bool


def compare(tables: Tables, truth: list[Row], *, start_ms: int) -> list[str]:
    """All disagreements between the tables of one fleet and its truth."""
    expected = list(_expected_outages(truth))
    return [
        *_outages(tables["outage_impact"], expected),
        *_sessions(tables["broker_sessions"], tables["outage_impact"]),
        *_availability(tables["broker_availability_daily"], tables["outage_impact"]),
        *_flaps(tables["broker_flaps"], tables["outage_impact"], truth),
        *_divergence(tables["ns_divergence"], expected, truth),
        *_convergence(tables["convergence"], truth, start_ms),
    ]


def _expected_outages(truth: list[Row]) -> Iterator[Outage]:
    """Pairs of broker_down and the next broker_up of each fault. A replaced broker is not an outage."""
    for fault in truth:
        by_place: dict[tuple[str, str], list[Row]] = {}
        for event in fault.get("expect", ()):
            if event["kind"] in ("broker_down", "broker_up"):
                by_place.setdefault((event["ns"], event["addr"]), []).append(event)
        for (ns, addr), events in by_place.items():
            for down, up in zip(events[::2], events[1::2], strict=True):
                reasons = frozenset(down.get("reasons", ()))
                if reasons != {"replaced"}:
                    yield Outage(
                        ns,
                        addr,
                        reasons,
                        (down["from_ms"], down["to_ms"]),
                        (up["from_ms"], up["to_ms"]),
                        down.get("certain", True),
                    )


def _outages(rows: list[Row], expected: list[Outage]) -> Iterator[str]:
    """Every outage is found once, with its reason, and its begin, end and length are within the bounds."""
    left = sorted(expected, key=lambda one: not one.certain)
    for row in sorted(rows, key=lambda row: row["from_at"]):
        fits = [one for one in left if _is(row, one)]
        if not fits:
            yield f"outage_impact: no fault explains {_brief(row)}"
            continue
        left.remove(fits[0])
        if row["planned"] != (row["reason"] in PLANNED):
            yield f"outage_impact: planned is wrong: {_brief(row)}"
        shortest, longest = fits[0].up[0] - fits[0].down[1], fits[0].up[1] - fits[0].down[0]
        if row["to_at"] is not None and not shortest <= row["to_at"] - row["from_at"] <= longest:
            yield f"outage_impact: lasted {shortest} to {longest} ms: {_brief(row)}"
        if row.get("max_s") is not None and row["to_at"] is not None:
            length_s = (row["to_at"] - row["from_at"]) / 1000
            if not row["min_s"] - ROUNDING_S <= length_s <= row["max_s"] + ROUNDING_S:
                yield f"outage_impact: {length_s} s is not between min_s and max_s: {_brief(row)}"
    for one in left:
        if one.certain:
            yield f"outage_impact: not found: {one}"


def _is(row: Row, one: Outage) -> bool:
    return (
        (row["ns"], row["addr"]) == (one.ns, one.addr)
        and (not one.reasons or row["reason"] in one.reasons)
        and one.down[0] <= row["from_at"] <= one.down[1]
        and (row["to_at"] is None or one.up[0] <= row["to_at"] <= one.up[1])
    )


def _sessions(sessions: list[Row], outages: list[Row]) -> Iterator[str]:
    """An outage begins where a session ends, and ends where one begins, at the same NameServer and broker."""
    ends = {(row["ns"], row["addr"], row["ended_at"], row["end_reason"]) for row in sessions}
    begins = {(row["ns"], row["addr"], row["started_at"]) for row in sessions}
    for row in outages:
        if (row["ns"], row["addr"], row["from_at"], row["reason"]) not in ends:
            yield f"broker_sessions: none ends at the begin of {_brief(row)}"
        if row["to_at"] is not None and (row["ns"], row["addr"], row["to_at"]) not in begins:
            yield f"broker_sessions: none begins at the end of {_brief(row)}"
    for row in sessions:
        if row["ended_at"] is not None and abs(row["duration_s"] * 1000 - (row["ended_at"] - row["started_at"])) > 1:
            yield f"broker_sessions: duration_s is wrong: {row}"


def _availability(days: list[Row], outages: list[Row]) -> Iterator[str]:
    """Up and down time add up, and counts and sums over all days equal those of the outages."""
    for row in days:
        protected_s = row.get("protected_s") or 0.0
        if abs(row["up_s"] + row["down_s"] + protected_s - row["observed_s"]) > ROUNDING_S:
            yield f"broker_availability_daily: the parts of observed_s do not add up: {row}"
        if row["observed_s"] and protected_s == 0 and abs(row["availability"] - row["up_s"] / row["observed_s"]) > 1e-9:
            yield f"broker_availability_daily: availability is wrong: {row}"
    brokers = {(row["ns"], row["addr"]) for row in days}
    for ns, addr in sorted(brokers):
        mine = [row for row in days if (row["ns"], row["addr"]) == (ns, addr)]
        gone = [row for row in outages if (row["ns"], row["addr"]) == (ns, addr)]
        for column, planned in (("outages", False), ("planned_outages", True)):
            counted, found = sum(row[column] for row in mine), sum(row["planned"] is planned for row in gone)
            if counted != found:
                yield f"broker_availability_daily: {column} of {addr} at {ns}: {counted}, and {found} outages"
        if all(row["to_at"] is not None for row in gone):
            lost_s = sum(row["to_at"] - row["from_at"] for row in gone) / 1000
            down_s = sum(row["down_s"] for row in mine)
            # time in which the NameServer itself was down is not observed
            if down_s > lost_s + ROUNDING_S:
                yield f"broker_availability_daily: down_s of {addr} at {ns}: {down_s}, and outages of {lost_s} s"


def _flaps(rows: list[Row], outages: list[Row], truth: list[Row]) -> Iterator[str]:
    """Each flapping broker is one row at each NameServer; each row has three unplanned outages, never up for long."""
    for fault in truth:
        for ns in fault["nameservers"] if fault["fault"] == "flap" else ():
            for addr in fault["addrs"]:
                found = [
                    row
                    for row in rows
                    if (row["ns"], row["addr"]) == (ns, addr)
                    and row["window_start"] <= fault["until"] + FLAP_UP_MS
                    and row["window_end"] >= fault["at"]
                ]
                if len(found) != 1:
                    yield f"broker_flaps: {len(found)} rows for the fault at {fault['at']} of {addr} at {ns}"
    for row in rows:
        if row.get("kind") not in (None, "flap", "crash", "unplanned"):
            continue  # a loop of planned restarts
        inside = sorted(
            (one["from_at"], one["to_at"])
            for one in outages
            if (one["ns"], one["addr"]) == (row["ns"], row["addr"])
            and not one["planned"]
            and row["window_start"] <= one["from_at"] <= row["window_end"]
        )
        ups = [begin - end for (_, end), (begin, _) in pairwise(inside) if end is not None]
        if len(inside) < FLAP_OUTAGES or any(up > FLAP_UP_MS for up in ups):
            yield f"broker_flaps: not a flap: {row['addr']} at {row['ns']} from {row['window_start']}: {inside}"


def _divergence(rows: list[Row], expected: list[Outage], truth: list[Row]) -> Iterator[str]:
    """A broker cut off from one NameServer for long enough is one row for each other NameServer, and nothing else."""
    names = sorted({ns for fault in truth for ns in fault["nameservers"]})
    cuts = {
        (fault["nameservers"][0], addr, fault["at"], fault["until"])
        for fault in truth
        if fault["fault"] == "cut"
        for addr in fault["addrs"]
    }
    missing = [one for one in expected if any((one.ns, one.addr) == cut[:2] and _near(one, cut) for cut in cuts)]
    used = set()
    for number, row in enumerate(rows):
        lacks = row["ns_a"] if row["difference"] == "missing_a" else row["ns_b"]
        fits = [
            one
            for one in missing
            if row["addr"] == one.addr
            and lacks == one.ns
            and one.down[0] <= row["from_at"] <= one.down[1]
            and (row["to_at"] is None or one.up[0] <= row["to_at"] <= one.up[1])
        ]
        if not fits:
            yield f"ns_divergence: no fault explains {row}"
        used |= {(one, row["ns_a"] if lacks == row["ns_b"] else row["ns_b"]) for one in fits}
        if row["to_at"] is not None and row["to_at"] - row["from_at"] < PROPAGATION_MS:
            yield f"ns_divergence: shorter than 120 s: row {number}: {row}"
    for one in missing:
        is_long = one.certain and one.up[0] - one.down[1] >= PROPAGATION_MS
        for other in names:
            if is_long and other != one.ns and (one, other) not in used:
                yield f"ns_divergence: not found: {one} compared with {other}"


def _near(one: Outage, cut: tuple[str, str, int, int]) -> bool:
    return cut[2] <= one.down[1] and one.up[0] == cut[3]


def _convergence(rows: list[Row], truth: list[Row], start_ms: int) -> Iterator[str]:
    """A changed topic is one row per broker, observed by all NameServers, and every row of a topic is a fault."""
    wanted: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    deleted: dict[str, list[tuple[int, int]]] = {}
    for fault in truth:
        for event in fault.get("expect", ()):
            if event["kind"] == "topics_changed":
                key = event["broker"], event["topic"]
                wanted.setdefault(key, []).append((event["from_ms"], event["to_ms"], len(fault["nameservers"])))
            elif event["kind"] == "topic_deleted":
                deleted.setdefault(event["topic"], []).append((event["from_ms"], event["to_ms"]))
    for (broker, topic), times in sorted(wanted.items()):
        found = [row for row in rows if (row["broker"], row["topic"]) == (broker, topic)]
        for from_ms, to_ms, nameservers in sorted(set(times)):
            seen = [row for row in found if from_ms <= row["first_at"] and row["last_at"] <= to_ms]
            if [row["nameservers"] for row in seen] != [nameservers]:
                yield f"convergence: {topic} on {broker} at {from_ms}: seen by {[row['nameservers'] for row in seen]}"
    for row in rows:
        if row["topic"] is None or row["first_at"] < start_ms + START_MS:
            continue
        changed = [(begin, end) for begin, end, _ in wanted.get((row["broker"], row["topic"]), ())]
        if not any(begin <= row["first_at"] <= end for begin, end in changed + deleted.get(row["topic"], [])):
            yield f"convergence: no fault explains {row}"


def _brief(row: Row) -> str:
    names = ("ns", "addr", "from_at", "to_at", "reason", "planned")
    return str({name: row[name] for name in names})
