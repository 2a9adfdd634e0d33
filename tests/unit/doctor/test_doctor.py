"""The checks of the doctor: a finding for each problem, none for a healthy cluster."""

import pytest

from routebook.codes import version_text
from routebook.disagreements import View
from routebook.doctor import Finding, Observation, ObservedBroker, ObservedNameServer, Severity, findings
from routebook.model import ClusterInfo
from tests.support.views import bare, group, on, queues, view

NOW_MS = 1_700_000_000_000
DAY_MS = 86_400_000
TWO = [
    ObservedNameServer(who="n1:9876", version=513, tls=True),
    ObservedNameServer(who="n2:9876", version=513, tls=True),
]
HEALTHY = [on("b-a", "orders", "b-a", "c1", "TBW102"), on("b-b", "orders", "b-b", "c1", "TBW102")]
MET = {"b-a.example:10911": ObservedBroker(version=513), "b-b.example:10911": ObservedBroker(version=513)}


def look(
    views: list[View] | None = None,
    *,
    nameservers: list[ObservedNameServer] | None = None,
    addresses: dict[str, ObservedBroker] | None = None,
    disagreements: list[str] | None = None,
    unusable_orders: dict[str, str] | None = None,
) -> list[Finding]:
    return findings(
        Observation(
            nameservers=TWO if nameservers is None else nameservers,
            views=[view("n1:9876", HEALTHY), view("n2:9876", HEALTHY)] if views is None else views,
            addresses=MET if addresses is None else addresses,
            now_ms=NOW_MS,
            disagreements=disagreements or [],
            unusable_orders=unusable_orders or {},
        )
    )


def only(found: list[Finding]) -> Finding:
    assert len(found) == 1, found
    assert found[0].advice
    return found[0]


def test_a_healthy_cluster_has_no_findings() -> None:
    assert look() == []


def test_a_nameserver_that_does_not_answer() -> None:
    dead = ObservedNameServer(who="n3:9876", failure="n3:9876: refused the connection")
    found = only(look(nameservers=[*TWO, dead]))
    assert (found.severity, found.check) == (Severity.ERROR, "nameserver")
    assert found.text == "NameServer n3:9876: refused the connection"


def test_one_nameserver_is_a_note() -> None:
    found = only(look(nameservers=TWO[:1], views=[view("n1:9876", HEALTHY)]))
    assert (found.severity, found.check) == (Severity.NOTE, "nameserver")


def test_no_broker_at_all() -> None:
    found = only(look([view("n1:9876", []), view("n2:9876", [])], addresses={}))
    assert (found.severity, found.text) == (Severity.WARNING, "no broker is registered")


def test_disagreements_are_reported() -> None:
    found = only(look(disagreements=["broker b-a and its 2 topics are missing at n2:9876"]))
    assert found.check == "agreement"
    assert "routebook diff n1:9876 n2:9876" in found.advice


def test_a_group_without_master() -> None:
    headless = (group("b-c", m1="b-c.example:10911"), {"orders": queues("b-c")})
    found = only(look([view("n1:9876", [*HEALTHY, headless])]))
    assert (found.severity, found.check) == (Severity.ERROR, "master")
    assert "broker b-c of cluster c1 has no master" in found.text


def test_a_master_that_one_nameserver_knows_is_a_master() -> None:
    both = bare(group("b-a", m0="b-a.example:10911", m1="h:2"))
    slave = bare(group("b-a", m1="h:2"))
    assert "master" not in {found.check for found in look([view("n1", [slave]), view("n2", [both])])}


@pytest.mark.parametrize(
    ("met", "severity", "text"),
    [
        (
            ObservedBroker(failure="refused the connection"),
            Severity.ERROR,
            "broker b-a id 0 at b-a.example:10911 refused the connection",
        ),
        (
            ObservedBroker(unresponsive="did not answer within 3 s"),
            Severity.WARNING,
            "broker b-a id 0 at b-a.example:10911 accepts connections but did not answer within 3 s",
        ),
    ],
)
def test_addresses_that_do_not_answer(met: ObservedBroker, severity: Severity, text: str) -> None:
    found = only(look(addresses={**MET, "b-a.example:10911": met}))
    assert (found.severity, found.check, found.text) == (severity, "reachable", text)


def test_an_address_that_two_advertise() -> None:
    twin = (group("b-c", m0="b-a.example:10911"), {"orders": queues("b-c")})
    found = only(look([view("n1:9876", [*HEALTHY, twin])]))
    assert found.text == "b-a.example:10911 is advertised by b-a id 0 and b-c id 0"


def test_a_broker_that_moved_and_whose_old_address_one_nameserver_still_lists() -> None:
    moved = (group("b-a", m0="b-a2.example:10911"), HEALTHY[0][1])
    gone = ObservedBroker(failure="refused the connection")
    met = {**MET, "b-a2.example:10911": ObservedBroker(version=513), "b-a.example:10911": gone}
    for views in ([moved, HEALTHY[1]], HEALTHY), (HEALTHY, [moved, HEALTHY[1]]):
        found = only(look([view("n1:9876", views[0]), view("n2:9876", views[1])], addresses=met))
        assert found.text == "broker b-a id 0 at b-a.example:10911 refused the connection"
        assert found.advice.startswith("Another NameServer lists it at b-a2.example:10911: it moved")


def test_an_address_that_another_broker_took_over_is_not_shared() -> None:
    moved = (group("b-a", m0="b-a2.example:10911"), HEALTHY[0][1])
    heir = (group("b-c", m0="b-a.example:10911"), on("b-c", "orders", "b-c", "c1", "TBW102")[1])
    met = {**MET, "b-a2.example:10911": ObservedBroker(version=513)}
    assert look([view("n1:9876", HEALTHY), view("n2:9876", [moved, HEALTHY[1], heir])], addresses=met) == []


def test_a_loopback_address_is_wrong_unless_the_nameserver_is_here_too() -> None:
    local = (group("b-c", m0="127.0.0.1:10911"), {"orders": queues("b-c")})
    found = only(look([view("n1:9876", [*HEALTHY, local])]))
    assert "advertises 127.0.0.1:10911, which only its own machine can reach" in found.text
    here = [ObservedNameServer(who="127.0.0.1:9876", local=True), ObservedNameServer(who="127.0.0.1:9877", local=True)]
    assert look([view("127.0.0.1:9876", [*HEALTHY, local])], nameservers=here) == []


def test_one_name_in_two_clusters() -> None:
    seen = view("n1:9876", HEALTHY)
    mixed = ClusterInfo(
        broker_addr_table=seen.info.broker_addr_table, cluster_addr_table={"c1": ["b-a", "b-b"], "c2": ["b-a"]}
    )
    found = only(look([View(who="n1:9876", info=mixed, routes=seen.routes)]))
    assert found.text == "broker name b-a is used in clusters c1, c2: their members are mixed"


def test_a_broker_that_was_wiped() -> None:
    wiped = (group("b-b"), {topic: queues("b-b", perm=4) for topic in ("orders", "b-b")})
    found = only(look([view("n1:9876", [HEALTHY[0], wiped])]))
    assert found.check == "permission"
    assert found.advice.endswith("routebook broker restore b-b")


def test_topics_that_nobody_can_write_are_a_note() -> None:
    closed = [(data, {**topics, "old": queues(data.broker_name, perm=4)}) for data, topics in HEALTHY]
    found = only(look([view("n1:9876", closed)]))
    assert (found.severity, found.text) == (Severity.NOTE, "1 topic can be read but not written: old")


def test_topics_on_one_broker() -> None:
    alone = [on("b-a", "orders", *(f"t{number:02}" for number in range(12))), HEALTHY[1]]
    found = only(look([view("n1:9876", alone)]))
    assert found.severity is Severity.WARNING
    assert found.text.startswith("12 topics only on broker b-a: t00, t01, ")
    assert found.text.endswith("t09 and 2 more")


def test_in_a_cluster_of_one_broker_that_is_a_note() -> None:
    found = only(look([view("n1:9876", [on("b-a", "orders", "%RETRY%g", "rmq_sys_x", "c1_REPLY_TOPIC")])]))
    assert (found.severity, found.text) == (Severity.NOTE, "1 topic only on broker b-a: orders")


def test_an_order_that_no_client_can_use() -> None:
    found = only(look(unusable_orders={"orders": "the order configuration of topic orders is 'x'"}))
    assert (found.severity, found.check) == (Severity.ERROR, "order")
    assert "routebook topic order orders" in found.advice


def test_a_clock_that_is_ahead() -> None:
    ahead = ObservedBroker(version=513, boot_ms=NOW_MS + 3_600_000)
    found = only(look(addresses={**MET, "b-a.example:10911": ahead}))
    assert found.check == "clock"
    assert "is 3600 s or more ahead of the local clock" in found.text
    before = ObservedBroker(version=513, boot_ms=NOW_MS - 1)
    assert look(addresses={**MET, "b-a.example:10911": before}) == []


def test_versions() -> None:
    old = ObservedBroker(version=401)
    found = only(look(addresses={**MET, "b-a.example:10911": old}))
    assert found.text == "brokers run different versions: 4.9.4: b-a.example:10911; 5.5.0: b-b.example:10911"
    servers = [TWO[0], ObservedNameServer(who="n2:9876", version=317, tls=True)]
    assert "NameServers run different versions: 4.5.2" in only(look(nameservers=servers)).text


@pytest.mark.parametrize(
    ("version", "text"),
    [
        (513, "5.5.0"),
        (512, "5.5.0-SNAPSHOT"),
        (494, "5.4.1-SNAPSHOT"),
        (401, "4.9.4"),
        (413, "5.0.0"),
        (213, "4.0.0"),
        (212, "4.0.0-SNAPSHOT"),
        (63, "before 4.0 (63)"),
    ],
)
def test_version_texts(version: int, text: str) -> None:
    assert version_text(version) == text


@pytest.mark.parametrize(
    ("days", "text"),
    [(-1, "the certificate of n1:9876 expired"), (1, "the certificate of n1:9876 expires in 1 day"), (30, None)],
)
def test_certificates(days: int, text: str | None) -> None:
    server = ObservedNameServer(who="n1:9876", version=513, tls=True, certificate_until_ms=NOW_MS + days * DAY_MS)
    found = look(nameservers=[server, TWO[1]])
    assert [finding.text for finding in found] == ([] if text is None else [text])


def test_no_tls_is_a_note_unless_it_is_here() -> None:
    plain = ObservedNameServer(who="n1:9876", version=513, tls=False)
    found = only(look(nameservers=[plain, TWO[1]]))
    assert (found.severity, found.check) == (Severity.NOTE, "tls")
    local = ObservedNameServer(who="127.0.0.1:9876", version=513, tls=False, local=True)
    assert look(nameservers=[local, TWO[1]]) == []


def test_the_worst_comes_first() -> None:
    dead = ObservedNameServer(who="n3:9876", failure="n3:9876: is gone")
    found = look(
        nameservers=[*TWO, dead, ObservedNameServer(who="n4", tls=False, version=513)],
        disagreements=["something differs"],
    )
    assert [finding.severity for finding in found] == [Severity.ERROR, Severity.WARNING, Severity.NOTE]
