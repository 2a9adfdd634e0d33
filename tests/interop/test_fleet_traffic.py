"""The traffic of a simulated broker compared with a real 5.5.0 broker: with a recorded table, and with a live one.

The tables below were recorded from `org.apache.rocketmq:rocketmq-broker:5.5.0`.
"""

import asyncio
import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from routebook.client.addresses import Address
from routebook.fleet.live.run import FleetRun
from routebook.fleet.scenario import parse_scenario
from routebook.testing import LocalNameServer
from tests.support.java import java_broker, java_nameserver
from tests.support.lag_meter import LagMeter
from tests.support.recording_proxy import RecordedRequest, Recording, recording

NAMES: Final = {"brokerAddr", "brokerId", "brokerName", "clusterName"}
REGISTRATION: Final = {*NAMES, "bodyCrc32", "compressed", "enableActingMaster", "haServerAddr"}
ACTING: Final = {*REGISTRATION, "heartbeatTimeoutMillis"}
SCALE: Final = 10.0
SECONDS: Final = 3.6  # 36 s of the fleet's time: registrations at 0, 10 and, with a period of 10 s, 20 and 30
LATENESS_S: Final = 4.0  # of the fleet's time


class Kind(NamedTuple):
    """One kind of request: its period and its fields."""

    code: int
    flag: int
    period_s: float
    first_s: float
    ext: set[str]
    body: bool


# default · forceRegister=false · acting masters, compatible · and not
TABLE: Final[Mapping[str, list[Kind]]] = {
    "": [Kind(103, 0, 10, 0, REGISTRATION, True), Kind(106, 0, 5, 10, set(), False)],
    "force_register = false": [Kind(322, 0, 10, 10, NAMES, True), Kind(106, 0, 5, 10, set(), False)],
    'acting_master = "compatible"': [
        Kind(103, 0, 10, 0, ACTING, True),
        Kind(322, 2, 1, 1, NAMES, True),
        Kind(105, 0, 1, 1, {"topic"}, False),
        Kind(106, 0, 5, 10, set(), False),
    ],
    'acting_master = "new"': [
        Kind(103, 0, 10, 0, ACTING, True),
        Kind(904, 2, 1, 1, NAMES - {"brokerId"}, False),
        Kind(901, 0, 1, 1, {"brokerName", "clusterName"}, False),
        Kind(106, 0, 5, 10, set(), False),
    ],
}


def record_fake(terms: str, *, seconds: float, scale: float, faults: str = "") -> Recording:
    """Record one simulated broker for this many seconds."""
    text = f'[brokers]\ncount = 1\nregister_every = "10s"\n{terms}\n[topics]\ncount = 0\n[clients]\ncount = 0\n{faults}'
    scenario = parse_scenario(text, name="one broker")
    with LocalNameServer() as nameserver, recording((nameserver.host, nameserver.port)) as record:
        run = FleetRun(
            scenario, [Address(*record.address)], seed=1, duration_ms=int(seconds * scale * 1000), scale=scale
        )
        asyncio.run(run.run())
    # the first request is the reachability check of the run
    return Recording(record.address, record.requests[1:], record.connections)


def times(record: Recording, code: int, scale: float) -> list[float]:
    """Times of the requests, in fleet seconds after the first registration."""
    zero = record.requests[0].at_s
    return [(one.at_s - zero) * scale for one in record.of(code)]


def median_gap(at: list[float]) -> float:
    gaps = sorted(later - earlier for earlier, later in pairwise(at))
    return gaps[len(gaps) // 2]


@pytest.mark.slow
@pytest.mark.parametrize("terms", TABLE)
def test_codes_headers_and_periods_equal_the_recorded_ones(terms: str) -> None:
    with LagMeter() as lag:
        record = record_fake(terms, seconds=SECONDS, scale=SCALE)
    lag_s = lag.worst_s * SCALE  # of the fleet's time
    kinds = TABLE[terms]
    assert record.requests[0].command.code == 103  # first in every mode
    assert record.codes() == {103, 104, *(kind.code for kind in kinds)}
    assert not any(one.binary for one in record.requests)
    assert {(one.command.version, one.command.language) for one in record.requests} == {(513, "JAVA")}
    for kind in kinds:
        assert {one.command.flag for one in record.of(kind.code)} == {kind.flag}
        assert {frozenset(one.command.ext or {}) for one in record.of(kind.code)} == {frozenset(kind.ext)}
        assert {one.command.body is not None for one in record.of(kind.code)} == {kind.body}
        seen = times(record, kind.code, SCALE)
        expected = (SECONDS * SCALE - kind.first_s) // kind.period_s + 1
        assert expected * 0.7 - lag_s <= len(seen) <= expected + 1
        assert seen[0] == pytest.approx(kind.first_s, abs=LATENESS_S + lag_s)
        assert median_gap(seen) == pytest.approx(kind.period_s, abs=0.4 * kind.period_s + lag_s)
    codes = [one.command.code for one in record.requests]
    assert 103 not in codes[codes.index(104) :]  # 104 is the last of its registrations


def test_a_broker_uses_one_connection_and_unique_opaques() -> None:
    record = record_fake('acting_master = "compatible"', seconds=1.5, scale=SCALE)
    assert record.connections == 2  # the reachability check and the broker
    opaques = [one.command.opaque for one in record.requests]
    assert len(set(opaques)) == len(opaques)


def test_all_requests_can_use_the_binary_header() -> None:
    record = record_fake('header = "binary"', seconds=1.5, scale=SCALE)
    assert all(one.binary for one in record.requests)


def test_split_registration_sends_several_parts() -> None:
    record = record_fake("split = 5", seconds=0.5, scale=SCALE)
    sizes = [len(topics_of(one)) for one in record.of(103)]
    assert sizes == [5, 5, 5, 0]  # as recorded: the last part is sent even if it is empty


def test_a_new_topic_is_registered_alone() -> None:
    churn = '[[fault]]\nkind = "churn"\nat = "5s"\n'
    record = record_fake("", seconds=1.0, scale=SCALE, faults=churn)
    assert [len(topics_of(one)) for one in record.of(103)][:2] == [15, 1]
    record = record_fake("single_topic_register = true", seconds=1.0, scale=SCALE, faults=churn)
    (one,) = record.of(217)
    assert (set(one.command.ext or {}), one.command.flag) == ({"topic"}, 0)
    assert set(json.loads(one.command.body or b"")) == {"brokerDatas", "filterServerTable", "queueDatas"}


def topics_of(request: RecordedRequest) -> Mapping[str, Any]:
    table: Mapping[str, Any] = body_of(request)["topicConfigSerializeWrapper"]["topicConfigTable"]
    return table


def body_of(request: RecordedRequest) -> Any:
    return json.loads(request.command.body or b"null")


def shape(value: Any) -> Any:
    """The structure of a JSON value: its keys and types."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return type(value).__name__


def renamed(topics: Mapping[str, Any], *, cluster: str, broker: str) -> dict[str, tuple[int, int, int]]:
    """Topics with permission and queues, by names independent of cluster and broker."""

    def general(name: str) -> str:
        return name.replace(cluster, "<cluster>").replace(broker, "<broker>")

    return {
        general(name): (topic["perm"], topic["readQueueNums"], topic["writeQueueNums"])
        for name, topic in topics.items()
    }


@pytest.mark.java
@pytest.mark.slow
def test_a_java_nameserver_accepts_all_requests(tmp_path: Path) -> None:
    """Except compressed registrations, which the Java NameServer cannot read from a real 5.5.0 broker either."""
    faults = '[[fault]]\nkind = "switch"\nat = "20s"\n[[fault]]\nkind = "churn"\nat = "15s"\nevery = "3s"\ntimes = 5\n'
    with java_nameserver(tmp_path) as address:
        for terms in TABLE:
            text = f"[brokers]\ncount = 4\npaired = 1\n{terms}\n[topics]\ncount = 4\n[clients]\ncount = 3\n{faults}"
            scenario = parse_scenario(text, name="small")
            run = FleetRun(scenario, [Address(*address)], seed=1, duration_ms=60_000, scale=20)
            report = asyncio.run(run.run())
            assert (report.refused, report.failures, report.timeouts) == (0, 0, 0)
            assert len(report.faults) == 6
            assert report.lookups > report.misses


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.third_party
@pytest.mark.parametrize("acting", [False, True])
def test_a_simulated_broker_sends_the_requests_of_a_real_one(acting: bool, tmp_path: Path) -> None:
    """Both run for about 25 s at the same time."""
    terms = 'acting_master = "compatible"' if acting else ""
    with (
        LocalNameServer() as nameserver,
        recording((nameserver.host, nameserver.port)) as real,
        java_broker(tmp_path, nameserver=real.address, enableSlaveActingMaster=str(acting).lower()) as broker,
    ):
        made = record_fake(terms, seconds=25.0, scale=1.0)  # the real broker runs meanwhile
        broker.process.terminate()
        broker.process.wait(60)
    assert made.codes() == real.codes()
    for code in sorted(real.codes()):
        assert kinds_of(made, code) == kinds_of(real, code), code
    first_made, first_real = made.of(103)[0], real.of(103)[0]
    wanted, got = body_of(first_real), body_of(first_made)
    for body in (wanted, got):
        body["topicConfigSerializeWrapper"].pop("topicConfigTable")
    assert shape(got) == shape(wanted)
    assert [shape(one) for one in topics_of(first_made).values()][:1] == [
        shape(one) for one in topics_of(first_real).values()
    ][:1]
    assert renamed(topics_of(first_made), cluster="cluster-1", broker="broker-001") == renamed(
        topics_of(first_real), cluster="C1", broker="b-a"
    )
    for code, period_s in ((103, 10.0), (106, 5.0), *(((322, 1.0), (105, 1.0)) if acting else ())):
        for record in (made, real):
            until_s = record.of(104)[0].at_s
            at = [one.at_s for one in record.of(code) if one.at_s < until_s]
            assert median_gap(at) == pytest.approx(period_s, abs=1.0), (code, at)


def kinds_of(record: Recording, code: int) -> set[tuple[Any, ...]]:
    """The distinct forms of requests with this code."""
    return {
        (
            one.command.flag,
            one.command.version,
            one.command.language,
            one.command.remark,
            frozenset(one.command.ext or {}),
            one.command.ext is None,
            one.command.body is None,
            one.binary,
        )
        for one in record.of(code)
    }
