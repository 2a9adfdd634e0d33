"""Sessions of brokers and runs of the NameServer, from real journal folders."""

from msgspec.structs import replace

from routebook.events import BrokerChanged, BrokerDown, BrokerUp, DownReason, ServerStarted, ServerStopped
from routebook.history.query.offline import open_offline
from routebook.history.query.sessions import ServerRun, Session
from tests.support.small_journals import BORN, STARTED, Journal, down, up


def sessions(journal: Journal, broker: str = "a", *, since_s: float = 0) -> list[Session]:
    with open_offline(journal.home) as history:
        found = history.sessions(broker, since_ms=BORN + int(since_s * 1000))
        return [] if found is None else found[0]


def intervals(
    journal: Journal, *, since_s: float = 0
) -> list[tuple[int, float, float | None, str | None, bool | None]]:
    return [
        (
            one.broker_id,
            (one.from_ms - BORN) / 1000,
            None if one.to_ms is None else (one.to_ms - BORN) / 1000,
            one.ended,
            one.planned,
        )
        for one in sessions(journal, since_s=since_s)
    ]


def test_each_registration_until_its_end_is_a_session(journal: Journal) -> None:
    journal.write(0, STARTED, up())
    journal.write(5, down())
    journal.write(8, up())
    assert intervals(journal) == [(0, 0, 5, "expired", False), (0, 8, None, None, None)]
    assert len(intervals(journal, since_s=6)) == 2, "it was gone then"
    assert intervals(journal, since_s=9) == [(0, 8, None, None, None)]
    assert sessions(journal, "never") == []


def test_a_deregistration_is_planned(journal: Journal) -> None:
    born = up()
    journal.write(0, STARTED, born)
    journal.write(
        1,
        BrokerDown(
            cluster=born.cluster,
            broker=born.broker,
            broker_id=born.broker_id,
            addr=born.addr,
            reason=DownReason.DEREGISTERED,
            peer="10.0.0.9:1",
            who="ann",
        ),
    )
    (one,) = sessions(journal)
    assert (one.ended, one.planned, one.peer, one.who) == ("deregistered", True, "10.0.0.9:1", "ann")


def test_a_role_switch_starts_a_session_with_the_new_id(journal: Journal) -> None:
    born = up()
    journal.write(0, STARTED, born)
    switched = BrokerChanged(
        cluster=born.cluster,
        broker=born.broker,
        broker_id=1,
        before_id=born.broker_id,
        addr=born.addr,
        timeout_ms=born.timeout_ms,
        acting_master=born.acting_master,
    )
    journal.write(3, switched)
    assert intervals(journal) == [(0, 0, 3, "role_switch", None), (1, 3, None, None, None)]


def members(journal: Journal) -> list[list[str]]:
    """The ids and addresses of each broker in time order."""
    found: dict[int, list[str]] = {}
    for one in sessions(journal):
        found.setdefault(one.member, []).append(f"{one.broker_id} {one.addr}")
    return sorted(found.values())


def at(addr: str, broker_id: int = 0) -> BrokerUp:
    return replace(up(), addr=addr, broker_id=broker_id)


def gone(addr: str, broker_id: int = 0, reason: DownReason = DownReason.EXPIRED) -> BrokerDown:
    return replace(down(), addr=addr, broker_id=broker_id, reason=reason)


def role(addr: str, before_id: int, broker_id: int) -> BrokerChanged:
    born = up()
    return BrokerChanged(
        cluster=born.cluster,
        broker=born.broker,
        broker_id=broker_id,
        before_id=before_id,
        addr=addr,
        timeout_ms=born.timeout_ms,
        acting_master=born.acting_master,
    )


def test_a_broker_that_returns_under_another_address_is_the_same(journal: Journal) -> None:
    journal.write(0, STARTED, at("x"), at("s", 1))
    journal.write(5, gone("x"))
    journal.write(8, at("y"))
    assert members(journal) == [["0 x", "0 y"], ["1 s"]]


def test_a_broker_that_moves_is_the_same(journal: Journal) -> None:
    journal.write(0, STARTED, at("x"))
    journal.write(5, gone("x", reason=DownReason.REPLACED), at("y"))
    assert members(journal) == [["0 x", "0 y"]]


def test_a_failed_master_that_returns_as_slave_under_another_address_is_the_same(journal: Journal) -> None:
    journal.write(0, STARTED, at("x"), at("s", 1))
    journal.write(5, gone("x"))
    journal.write(6, role("s", 1, 0))
    journal.write(9, at("y", 1))
    assert members(journal) == [["0 x", "1 y"], ["1 s", "0 s"]]


def test_a_new_slave_is_another_broker(journal: Journal) -> None:
    journal.write(0, STARTED, at("x"), at("s", 1))
    journal.write(5, gone("s", 1))
    journal.write(9, at("y", 2))
    assert members(journal) == [["0 x"], ["1 s"], ["2 y"]]


def test_a_cold_start_ends_all_sessions(journal: Journal) -> None:
    journal.write(0, STARTED, up())
    journal.write(2, ServerStopped(reason="SIGTERM"))
    journal.boot = "b2"
    journal.write(4, ServerStarted(version="1", listen="x", cold=True))
    assert intervals(journal) == [(0, 0, 4, "nameserver_cold_start", None)]


def test_runs_of_the_nameserver(journal: Journal) -> None:
    journal.write(0, STARTED, up())
    journal.write(2, ServerStopped(reason="SIGTERM"))
    journal.boot = "b2"
    journal.write(10, ServerStarted(version="1", listen="x", recovered=1))
    with open_offline(journal.home) as history:
        found = history.sessions("a", since_ms=0)
        assert found is not None
        assert found[1] == [
            ServerRun(from_ms=BORN, to_ms=BORN + 2000, ended="stopped"),
            ServerRun(from_ms=BORN + 10_000, to_ms=BORN + 10_000, ended="crashed"),
        ]
    assert intervals(journal) == [(0, 0, None, None, None)], "a warm start keeps brokers"
