"""Heartbeats and look-ups are counted per minute, within limits."""

from routebook.events import DownReason, HeartbeatMinute, LookupMinute
from routebook.handlers import Caller, dispatch
from routebook.wire.command import Command
from tests.support.core_client import CoreClient

KEY = {"clusterName": "DefaultCluster", "brokerName": "broker-a", "brokerAddr": "127.0.0.1:10911"}


def look_up(
    ns: CoreClient, topic: str, *, caller: Caller | None = None, language: str | None = "JAVA", version: int = 513
) -> None:
    command = Command(code=105, opaque=1, version=version, language=language, ext={"topic": topic})
    dispatch(ns.nameserver, command, caller or Caller(1, "10.0.0.9:5000"), ns.now_ms)


def lookups(ns: CoreClient) -> list[LookupMinute]:
    return [row for row in ns.nameserver.meter.take(60_000) if isinstance(row, LookupMinute)]


def heartbeats(ns: CoreClient) -> list[HeartbeatMinute]:
    return [row for row in ns.nameserver.meter.take(60_000) if isinstance(row, HeartbeatMinute)]


def test_look_ups_are_counted_by_topic_and_client() -> None:
    ns = CoreClient()
    ns.register("A", "B")
    size = len(ns.route("A").body or b"")
    caller = Caller(2, "[::1]:70")
    lookups(ns)
    for topic in ("A", "A", "nowhere"):
        look_up(ns, topic, caller=caller, language="GO", version=401)
    assert lookups(ns) == [
        LookupMinute(minute_ms=60_000, topic="A", client="::1", language="GO", version=401, count=2, bytes=2 * size),
        LookupMinute(minute_ms=60_000, topic="nowhere", client="::1", language="GO", version=401, count=1, misses=1),
    ]
    assert lookups(ns) == []
    look_up(ns, "A", caller=caller, language=None)
    (row,) = lookups(ns)
    assert (row.count, row.language, row.version) == (1, "", 513), "counts start at zero each minute"


def test_connections_of_one_client_share_a_row() -> None:
    ns = CoreClient()
    for port in (1, 2, 3):
        look_up(ns, "T", caller=Caller(port, f"10.0.0.9:{port}"))
    (row,) = lookups(ns)
    assert (row.client, row.count) == ("10.0.0.9", 3)


def test_look_ups_beyond_the_limit_are_counted_as_others() -> None:
    ns = CoreClient(**{"routebook.lookupKeysPerMinute": "3"})
    caller = Caller(1, "10.0.0.9:1")
    for n in range(50):
        look_up(ns, f"topic-{n}", caller=caller)
        look_up(ns, "topic-0", caller=caller)
    rows = lookups(ns)
    assert [(row.topic, row.count, row.others) for row in rows] == [
        ("topic-0", 51, False),
        ("topic-1", 1, False),
        ("topic-2", 1, False),
        ("", 47, True),
    ]
    assert sum(row.misses for row in rows) == 100


def test_kept_rows_are_cleared_after_a_minute() -> None:
    ns = CoreClient(**{"routebook.lookupKeysPerMinute": "2"})
    meter, kept = ns.nameserver.meter, dict[str, list[int]]()
    for host in ("10.0.0.8", "10.0.0.9", "10.0.0.10"):
        meter.keep_row(kept, Caller(1, f"{host}:1"), "T", "GO", 401)[0] += 1
    assert kept.keys() == {"10.0.0.8", "10.0.0.9"}, "what is beyond the bound is not kept"
    kept["10.0.0.9"][0] += 1
    assert [(row.client, row.count) for row in lookups(ns)] == [("10.0.0.8", 1), ("10.0.0.9", 2), ("", 1)]
    assert not kept


def test_a_name_that_is_too_long_for_a_topic_is_not_kept() -> None:
    ns = CoreClient()
    look_up(ns, "x" * 256)
    (row,) = lookups(ns)
    assert (row.others, row.count, row.misses) == (True, 1, 1)


def test_look_ups_are_counted_in_cluster_test_mode() -> None:
    ns = CoreClient(clusterTest="true")
    ns.register("A", "B")
    look_up(ns, "A")
    look_up(ns, "elsewhere")
    assert [(row.topic, row.count, row.misses, row.bytes > 0) for row in lookups(ns)] == [
        ("A", 1, 0, True),
        ("elsewhere", 1, 1, False),
    ]


def test_registrations_and_heartbeats_are_counted() -> None:
    ns = CoreClient()
    ns.register("A", "B")
    for code in (904, 322, 103):
        ns.now_ms += 30_000
        if code == 103:
            ns.register("A", "B")
        else:
            ns.ask(code, KEY, b"{}" if code == 322 else None)
    (row,) = heartbeats(ns)
    assert (row.cluster, row.broker, row.addr) == ("DefaultCluster", "broker-a", "127.0.0.1:10911")
    assert (row.count, row.gaps_ms, row.max_gap_ms) == (4, {30_719: 3}, 30_000)


def test_unknown_brokers_are_not_counted() -> None:
    ns = CoreClient()
    ns.ask(904, KEY)
    ns.ask(322, KEY, b"{}")
    assert ns.register("only-one").code == 1
    assert heartbeats(ns) == []


def test_an_outage_is_not_a_gap() -> None:
    ns = CoreClient()
    ns.register("A", "B")
    ns.nameserver.connection_lost(1, DownReason.CLOSED, ns.now_ms)
    ns.now_ms += 50_000
    ns.register("A", "B", connection=2)
    (row,) = heartbeats(ns)
    assert (row.count, row.gaps_ms) == (2, {})
