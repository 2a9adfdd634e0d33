"""A second comparator of a lake with the ground truth of a simulated fleet, written from docs/tables.md.

It uses neither the code that builds the tables nor the structs of the simulator: rows as DuckDB returns them, the lines
of truth.jsonl as dicts, and the definitions in the documents. Times are in ms. `compare` returns one line per
disagreement: a fault that the lake lacks, a row that no fault explains, or a figure out of its bounds.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
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
COUNTED = ((False, "outages", "unplanned_down_s"), (True, "planned_outages", "planned_down_s"))
RESTART_S = 2.0  # a NameServer starts and stops within two seconds
PLANNED = {"unregistered", "deregistered"}
SILENT = {"expired", "idle"}


class Outage(NamedTuple):
    """An outage that a fault must (`certain`) or may cause, with the ranges of its begin and end."""

    ns: str
    addr: str
    reasons: frozenset[str]
    down: tuple[int, int]
    up: tuple[int, int]
    certain: bool
    failed_at: int | None  # when a silent fault began


def compare(tables: Tables, truth: list[Row], *, start_ms: int) -> list[str]:
    """All disagreements between the tables of one fleet and its truth."""
    expected = list(_expected_outages(truth))
    return [
        *_outages(tables["outage_impact"], expected),
        *_sessions(tables["broker_sessions"], tables["outage_impact"]),
        *_availability(tables["broker_availability_daily"], tables["outage_impact"], truth),
        *_days(tables["broker_availability_daily"], tables["outage_impact"], tables["broker_sessions"]),
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
                        fault["at"] if reasons and reasons <= SILENT else None,
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
        if (row["ended"], row["returned_addr"], row["retired"]) != (
            (None, None, False) if row["to_at"] is None else ("returned", row["addr"], False)
        ):
            yield f"outage_impact: ended as {row['ended']} at {row['returned_addr']}: {_brief(row)}"
        yield from _bounds(row, fits[0].failed_at)
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


def _bounds(row: Row, failed_at: int | None) -> Iterator[str]:
    """A broker failed between last_seen_at and from_at; min_s and max_s are the lengths from these two."""
    if failed_at is None and row["last_seen_at"] != row["from_at"]:
        yield f"outage_impact: not silent, but last seen at {row['last_seen_at']}: {_brief(row)}"
    if failed_at is not None and not row["last_seen_at"] <= failed_at <= row["from_at"]:
        yield f"outage_impact: failed at {failed_at}, last seen at {row['last_seen_at']}: {_brief(row)}"
    for column, begin in (("min_s", row["from_at"]), ("max_s", row["last_seen_at"])):
        length_s = None if row["to_at"] is None else (row["to_at"] - begin) / 1000
        if (row[column] is None) != (length_s is None) or abs((row[column] or 0) - (length_s or 0)) > ROUNDING_S:
            yield f"outage_impact: {column} is {row[column]}, and the length {length_s}: {_brief(row)}"


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
        if row["planned"] is not (None if row["ended_at"] is None else row["end_reason"] in {*PLANNED, "replaced"}):
            yield f"broker_sessions: planned is wrong: {row}"
        if row["ended_at"] is not None and (row["last_seen_at"] == row["ended_at"]) is (row["end_reason"] in SILENT):
            yield f"broker_sessions: last_seen_at is wrong: {row}"


def _availability(days: list[Row], outages: list[Row], truth: list[Row]) -> Iterator[str]:
    """The parts of a day add up; over all days, counts and times of each broker are those of its outages."""
    for row in days:
        up_s, down_s, unplanned_s = row["up_s"], row["down_s"], row["unplanned_down_s"]
        if abs(up_s + down_s - row["observed_s"]) > ROUNDING_S:
            yield f"broker_availability_daily: the parts of observed_s do not add up: {row}"
        if abs(row["planned_down_s"] + unplanned_s - down_s) > ROUNDING_S:
            yield f"broker_availability_daily: the parts of down_s do not add up: {row}"
        yield from _quotient(row, "availability", up_s, row["observed_s"])
        yield from _quotient(row, "availability_unplanned", up_s, up_s + unplanned_s)
        yield from _quotient(row, "mtbf_s", up_s, row["outages"])
        if row["protected_s"]:
            yield f"broker_availability_daily: no fault silenced many brokers: {row}"
    restarts = [fault for fault in truth if fault["fault"] == "restart"]
    stops = [(ns, fault["at"], fault["until"]) for fault in restarts for ns in fault["nameservers"]]
    for ns, member in sorted({(row["ns"], row["member"]) for row in days}):
        mine = [row for row in days if (row["ns"], row["member"]) == (ns, member)]
        gone = [row for row in outages if (row["ns"], row["member"]) == (ns, member)]
        for planned, count, time in COUNTED:
            some = [row for row in gone if row["planned"] is planned]
            if sum(row[count] for row in mine) != len(some):
                yield f"broker_availability_daily: {count} of {member} at {ns}: {mine}, and {len(some)} outages"
            if any(row["to_at"] is None for row in some):
                continue
            # the time in which the NameServer itself was down is not observed
            cuts = [_overlap(row, stop) for row in some for stop in stops if stop[0] == ns]
            wanted_s = (sum(row["to_at"] - row["from_at"] for row in some) - sum(cuts)) / 1000
            if abs(sum(row[time] for row in mine) - wanted_s) > ROUNDING_S + RESTART_S * sum(cut > 0 for cut in cuts):
                yield f"broker_availability_daily: {time} of {member} at {ns}: {mine}, and outages of {wanted_s} s"


def _days(days: list[Row], outages: list[Row], sessions: list[Row]) -> Iterator[str]:
    """Every broker has rows, and mttr_s is the mean of the unplanned outages that ended on the day."""
    for ns, member in {(row["ns"], row["member"]) for row in sessions} ^ {(row["ns"], row["member"]) for row in days}:
        yield f"broker_availability_daily: {member} at {ns} is in broker_sessions or here, not in both"
    for row in days:
        ended_s = [
            one["min_s"]
            for one in outages
            if (one["ns"], one["member"], one["planned"]) == (row["ns"], row["member"], False)
            and one["to_at"] is not None
            and datetime.fromtimestamp(one["to_at"] / 1000, UTC).date().isoformat() == row["day"]
        ]
        yield from _quotient(row, "mttr_s", sum(ended_s), len(ended_s))


def _quotient(row: Row, column: str, part: float, whole: float) -> Iterator[str]:
    if (row[column] is None) != (whole == 0) or (whole and abs(row[column] - part / whole) > ROUNDING_S):
        yield f"broker_availability_daily: {column} is not {part} / {whole}: {row}"


def _overlap(row: Row, stop: tuple[str, int, int]) -> int:
    return max(0, min(int(row["to_at"]), stop[2]) - max(int(row["from_at"]), stop[1]))


def _flaps(rows: list[Row], outages: list[Row], truth: list[Row]) -> Iterator[str]:
    """Each flapping broker is one row at each NameServer; each row has three outages, never up for long."""
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
        mine = [
            one
            for one in outages
            if (one["ns"], one["member"]) == (row["ns"], row["member"])
            and row["window_start"] <= one["from_at"] <= row["window_end"]
        ]
        planned = {one["planned"] for one in mine}
        kind = "mixed" if len(planned) == 2 else "restart_loop" if planned == {True} else "flap"
        changes = len(mine) + sum(one["to_at"] is not None for one in mine)
        if (row["kind"], row["outages"], row["transitions"], row["scope"]) != (kind, len(mine), changes, "broker"):
            yield f"broker_flaps: {kind} with {len(mine)} outages, not {row}"
        inside = sorted((one["from_at"], one["to_at"]) for one in mine)
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
        if row["to_at"] is not None and abs(row["duration_s"] * 1000 - (row["to_at"] - row["from_at"])) > 1:
            yield f"ns_divergence: duration_s is wrong: {row}"
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
