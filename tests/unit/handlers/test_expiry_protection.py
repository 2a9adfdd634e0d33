"""Mass-expiry protection: routes of brokers that become silent at once are kept for a limited time."""

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from routebook.events import (
    BrokerDown,
    BrokerReturned,
    DownReason,
    Event,
    PreservationEnd,
    PreservationEntered,
    PreservationLeft,
)
from routebook.handlers import NameServer
from routebook.handlers.expiry_protection import PeerAnswers
from routebook.model import BrokerKey, RoutePolicy
from routebook.settings import Settings, from_values
from tests.support.route_tables import check_consistency, registration

TIMEOUT_MS = 120_000
SCAN_MS = 5_000
BEAT_MS = 30_000


class Fleet:
    """Brokers with connections of their own, and a NameServer whose clock the test moves."""

    def __init__(self, brokers: int, **given: str) -> None:
        values = {f"routebook.preservation.{key}": value for key, value in given.items()}
        self.ns = NameServer(Settings.build([from_values(values)]), started_ms=0)
        self.now_ms = 0
        self.brokers = brokers
        self.events: list[Event] = []
        for n in range(brokers):
            self.register(n)

    def register(self, n: int, *, connection: int | None = None) -> None:
        what = registration(f"b{n}", addr=f"10.0.0.{n}:1", topics=(f"b{n}", "T"), timeout_ms=TIMEOUT_MS)
        over = n if connection is None else connection
        change = self.ns.routes.register(what, connection=over, now_ms=self.now_ms, policy=RoutePolicy()).change
        self.events += change.events

    def beat(self, *brokers: int) -> None:
        for n in brokers:
            self.ns.routes.heartbeat(key(n), self.now_ms)

    def scan(self) -> list[Event]:
        outcome = self.ns.scan(self.now_ms)
        self.events += outcome.events
        check_consistency(self.ns.routes)
        return list(outcome.events)

    def lose(self, n: int, reason: DownReason) -> None:
        self.events += self.ns.connection_lost(n, reason, self.now_ms).events

    def run(self, seconds: int, *, alive: range = range(0)) -> None:
        """Time passes: a scan every 5 s, and every 30 s a heartbeat of those that are alive."""
        end = self.now_ms + seconds * 1000
        while self.now_ms < end:
            self.now_ms += SCAN_MS
            if self.now_ms % BEAT_MS == 0:
                self.beat(*alive)
            self.scan()

    @property
    def up(self) -> int:
        return len(self.ns.routes.lease_table)

    @property
    def preserving(self) -> bool:
        return self.ns.expiry_protection.since_ms is not None

    def of(self, kind: type[Event]) -> list[Event]:
        return [event for event in self.events if isinstance(event, kind)]


def key(n: int) -> BrokerKey:
    return BrokerKey("DefaultCluster", f"10.0.0.{n}:1")


def test_brokers_that_become_silent_at_once_are_kept() -> None:
    fleet = Fleet(10)
    fleet.run(300)
    assert (fleet.up, fleet.preserving) == (10, True)
    (entered,) = fleet.of(PreservationEntered)
    assert isinstance(entered, PreservationEntered)
    assert (entered.silent, entered.known, entered.window_ms) == (10, 10, 30_000)
    assert entered.addrs[0] == "10.0.0.0:1"
    assert not fleet.of(BrokerDown)
    assert fleet.ns.routes.route("T", RoutePolicy()) is not None


def test_the_first_brokers_that_expire_are_kept() -> None:
    """Heartbeats are spread over half a minute, so leases do not end together."""
    fleet = Fleet(10)
    for n in range(10):
        fleet.now_ms += 3_000
        fleet.beat(n)
    fleet.run(200)
    assert (fleet.up, fleet.preserving) == (10, True)


@pytest.mark.parametrize(("silent", "of"), [(1, 10), (4, 10), (5, 10), (4, 4), (4, 6)])
def test_too_few_brokers_expire(silent: int, of: int) -> None:
    fleet = Fleet(of)
    fleet.run(300, alive=range(silent, of))
    assert (fleet.up, fleet.preserving) == (of - silent, False)
    downs = fleet.of(BrokerDown)
    assert [down.reason for down in downs if isinstance(down, BrokerDown)] == [DownReason.EXPIRED] * silent


@pytest.mark.parametrize(("silent", "of"), [(6, 10), (5, 9), (5, 5)])
def test_over_half_and_at_least_five_are_kept(silent: int, of: int) -> None:
    fleet = Fleet(of)
    fleet.run(300, alive=range(silent, of))
    assert (fleet.up, fleet.preserving) == (of, True)


def test_brokers_that_become_silent_one_by_one_expire() -> None:
    fleet = Fleet(10)
    for dead in range(1, 11):
        fleet.run(150, alive=range(dead, 10))
    assert (fleet.up, fleet.preserving) == (0, False)


def test_closes_and_unregistrations_are_applied_during_protection() -> None:
    fleet = Fleet(10)
    fleet.run(200)
    fleet.lose(0, DownReason.CLOSED)
    fleet.ns.routes.unregister(key(1), broker="b1", broker_id=0, connection=1, policy=RoutePolicy())
    assert fleet.up == 8
    fleet.scan()
    assert (fleet.up, fleet.preserving) == (8, True)


def test_brokers_that_close_are_removed() -> None:
    fleet = Fleet(10)
    for n in range(10):
        fleet.lose(n, DownReason.CLOSED)
    fleet.scan()
    assert (fleet.up, fleet.preserving) == (0, False)


def test_idle_connections_count_like_expiries() -> None:
    fleet = Fleet(10)
    fleet.now_ms = 119_000  # the leases are still valid
    for n in range(10):
        fleet.lose(n, DownReason.IDLE)
    assert (fleet.up, fleet.preserving) == (10, True)
    fleet.run(100)
    assert fleet.up == 10
    fleet.register(0, connection=100)
    assert isinstance(fleet.events[-1], BrokerReturned)


def test_a_single_idle_connection_is_closed() -> None:
    fleet = Fleet(10)
    fleet.now_ms = 119_000
    fleet.beat(*range(1, 10))
    fleet.lose(0, DownReason.IDLE)
    assert (fleet.up, fleet.preserving) == (9, False)


def test_it_ends_when_they_return_and_the_rest_get_a_full_timeout() -> None:
    fleet = Fleet(10)
    fleet.run(200)
    fleet.beat(*range(6))
    (left,) = fleet.scan()
    assert left == PreservationLeft(reason=PreservationEnd.RETURNED, lasted_ms=75_000, returned=6, silent=4)
    assert fleet.up == 10
    fleet.run(100, alive=range(6))
    assert fleet.up == 10
    fleet.run(60, alive=range(6))
    assert (fleet.up, fleet.preserving) == (6, False)


def test_it_ends_after_its_maximum_duration() -> None:
    fleet = Fleet(10)
    fleet.run(125 + 600)
    assert (fleet.up, fleet.preserving) == (0, False)
    (left,) = fleet.of(PreservationLeft)
    assert left == PreservationLeft(reason=PreservationEnd.TIMED_OUT, lasted_ms=600_000, returned=0, silent=10)
    assert len(fleet.of(BrokerDown)) == 10
    fleet.run(60)
    assert len(fleet.of(PreservationEntered)) == 1


def test_connections_of_protected_brokers_stay_open() -> None:
    fleet = Fleet(10)
    fleet.now_ms = 121_000
    assert fleet.ns.scan(fleet.now_ms).effects == ()


def test_a_setting_disables_it() -> None:
    fleet = Fleet(10, enabled="false")
    fleet.run(200)
    assert (fleet.up, len(fleet.of(BrokerDown))) == (0, 10)
    assert not fleet.of(PreservationEntered)


def test_disabling_it_ends_it() -> None:
    fleet = Fleet(10)
    fleet.run(200)
    fleet.ns.settings = Settings.build([from_values({"routebook.preservation.enabled": "false"})])
    left = fleet.scan()[0]
    assert isinstance(left, PreservationLeft)
    assert (left.reason, fleet.up) == (PreservationEnd.SWITCHED_OFF, 0)


def test_share_and_minimum_are_settings() -> None:
    careful = Fleet(10, share="10", minimum="2")
    careful.run(300, alive=range(2, 10))
    assert (careful.up, careful.preserving) == (10, True)
    bold = Fleet(10, share="90")
    bold.run(300, alive=range(9, 10))
    assert (bold.up, bold.preserving) == (1, False)


def test_short_timeouts_need_more_than_a_late_heartbeat() -> None:
    ns = NameServer(Settings.build(), started_ms=0)
    for n in range(10):
        what = registration(f"b{n}", addr=f"10.0.0.{n}:1", timeout_ms=10_000)
        ns.routes.register(what, connection=n, now_ms=0 if n == 0 else 6_000, policy=RoutePolicy())
    outcome = ns.scan(10_001)  # nine of ten were heard of 4 s ago
    assert [type(event) for event in outcome.events][:1] == [BrokerDown]
    assert len(ns.routes.lease_table) == 9


def test_recovered_brokers_have_their_own_lease() -> None:
    fleet = Fleet(10)
    restarted = Fleet(0)
    for event in fleet.events:
        restarted.ns.routes.apply(event, now_ms=0)  # type: ignore[arg-type]  # they are all of routes
    restarted.ns.routes.begin_leases(0, max_ms=60_000)
    restarted.run(70)
    assert (restarted.up, restarted.preserving) == (0, False)


# One name, host or identity cannot cause it


def fleet_with_attacker(*, members: int, names: int, hosts: int, identity: str | None) -> Fleet:
    """Ten honest brokers of one identity, and more from an attacker that then becomes silent, like one honest one."""
    fleet = Fleet(10)
    for n in range(10):
        lease = fleet.ns.routes.lease_table[key(n)]
        lease.host, lease.identity = f"10.0.0.{n}", None if identity is None else "fleet"
    for n in range(members):
        what = registration(
            f"evil{n % names}", broker_id=n // names, addr=f"10.6.6.{n}:1", topics=("x", "y"), timeout_ms=TIMEOUT_MS
        )
        fleet.ns.routes.register(what, connection=100 + n, now_ms=0, policy=RoutePolicy())
        lease = fleet.ns.routes.lease_table[what.key]
        lease.host, lease.identity = f"10.6.6.{n % hosts}", identity
    return fleet


@pytest.mark.parametrize(
    ("names", "hosts", "identity"),
    [
        (1, 20, None),  # one name with many members, as an identity with `brokers` may register
        (20, 1, None),  # many names from one host
        (20, 20, "evil"),  # one identity without limits
        (1, 1, "evil"),
    ],
)
def test_one_name_host_or_identity_does_not_start_it(names: int, hosts: int, identity: str | None) -> None:
    fleet = fleet_with_attacker(members=20, names=names, hosts=hosts, identity=identity)
    fleet.run(300, alive=range(1, 10))
    assert (fleet.up, fleet.preserving) == (9, False), "the dead broker does not stay in the routes"


def test_the_same_brokers_of_many_names_hosts_and_identities_start_it() -> None:
    fleet = fleet_with_attacker(members=20, names=20, hosts=20, identity=None)
    fleet.run(300, alive=range(1, 10))
    assert (fleet.up, fleet.preserving) == (30, True)


# With peers


def asking_fleet(brokers: int = 10) -> Fleet:
    fleet = Fleet(brokers)
    fleet.ns.expiry_protection.asks_peers = True
    fleet.run(125)
    assert (fleet.up, fleet.preserving, fleet.of(PreservationEntered)) == (brokers, False, [])
    assert fleet.ns.expiry_protection.question == frozenset(map(key, range(brokers)))
    return fleet


def answer(fleet: Fleet, *, answered: int, missing: int) -> None:
    fleet.events += fleet.ns.peers_answered(PeerAnswers(answered=answered, missing=missing), fleet.now_ms).events


@pytest.mark.parametrize(("answered", "missing"), [(1, 0), (2, 1), (3, 1), (0, 0)])
def test_peers_that_hear_the_brokers_or_do_not_answer_start_it(answered: int, missing: int) -> None:
    fleet = asking_fleet()
    answer(fleet, answered=answered, missing=missing)
    assert (fleet.up, fleet.preserving, len(fleet.of(PreservationEntered))) == (10, True, 1)


@pytest.mark.parametrize(("answered", "missing"), [(1, 1), (2, 2), (3, 2)])
def test_peers_that_miss_the_brokers_too_prevent_it(answered: int, missing: int) -> None:
    fleet = asking_fleet()
    answer(fleet, answered=answered, missing=missing)
    assert (fleet.up, fleet.preserving, fleet.of(PreservationEntered)) == (0, False, [])
    assert len(fleet.of(BrokerDown)) == 10


def test_it_starts_if_peers_do_not_answer_in_time() -> None:
    fleet = asking_fleet()
    states = []
    for _ in range(2):
        fleet.run(5)
        states.append((fleet.up, fleet.preserving))
    assert states == [(10, False), (10, True)]


def test_brokers_that_return_before_the_answer_withdraw_the_question() -> None:
    fleet = asking_fleet()
    fleet.beat(*range(10))
    fleet.scan()
    assert (fleet.up, fleet.preserving, fleet.ns.expiry_protection.question) == (10, False, None)
    answer(fleet, answered=0, missing=0)
    assert not fleet.preserving


def test_peers_are_asked_again_and_end_it_when_they_miss_the_brokers() -> None:
    """A peer notices a dead broker a little later; a Routebook may protect it, too, and reports its silence."""
    fleet = asking_fleet()
    answer(fleet, answered=1, missing=0)
    fleet.run(25)
    questions = [fleet.ns.expiry_protection.question]
    fleet.run(5)
    questions.append(fleet.ns.expiry_protection.question)
    assert questions == [None, frozenset(map(key, range(10)))]
    answer(fleet, answered=1, missing=1)
    (left,) = fleet.of(PreservationLeft)
    assert isinstance(left, PreservationLeft)
    assert (left.reason, fleet.up) == (PreservationEnd.GONE, 0)


moves = st.lists(
    st.tuples(st.sampled_from(["beat", "close", "idle", "register", "scan"]), st.integers(0, 7), st.integers(0, 40)),
    max_size=60,
)


@settings(max_examples=200, deadline=None)
@given(moves)
def test_random_traffic_starts_and_ends_it_in_turn(
    steps: list[tuple[str, int, int]],
) -> None:
    fleet = Fleet(8)
    for what, n, seconds in steps:
        fleet.now_ms += seconds * 1000
        match what:
            case "beat":
                fleet.beat(n)
            case "close":
                fleet.lose(n, DownReason.CLOSED)
                seats = fleet.ns.routes.lease_table.get(key(n))
                assert seats is None or seats.memberships[f"b{n}"].connection != n
            case "idle":
                fleet.lose(n, DownReason.IDLE)
            case "register":
                fleet.register(n)
            case "scan":
                fleet.scan()
        changes = [event for event in fleet.events if isinstance(event, PreservationEntered | PreservationLeft)]
        assert all(isinstance(event, PreservationEntered) == (at % 2 == 0) for at, event in enumerate(changes))
        assert fleet.preserving == (len(changes) % 2 == 1)
        assert fleet.preserving or not fleet.ns.expiry_protection.silent
        if what == "scan" and not fleet.preserving:  # no expired broker is left
            late = [
                lease
                for lease in fleet.ns.routes.lease_table.values()
                if lease.last_update_ms + TIMEOUT_MS < fleet.now_ms
            ]
            assert not late
    fleet.run(900)
    assert (fleet.up, fleet.preserving) == (0, False), "whatever it was, it ends"
