"""Authorization by class, address, cluster and broker."""

from ipaddress import ip_network

import pytest

from routebook.access.classes import NEEDED, Access, expanded
from routebook.access.decision import Target, decide
from routebook.access.identity import Identity


def identity(*classes: Access, **limits: object) -> Identity:
    return Identity(name="x", access=expanded(classes), **limits)  # type: ignore[arg-type]  # by name, as given


READER, BROKER, OPERATOR = (
    identity(access) for access in (Access.ROUTE_READ, Access.BROKER_CONTROL, Access.ADMIN_WRITE)
)


@pytest.mark.parametrize(
    ("who", "allowed", "denied"),
    [
        (READER, [105, 106, 206, 224, 901, 34], [100, 101, 103, 104, 217, 219, 318, 319, 322, 904]),
        (BROKER, [103, 104, 105, 106, 217, 322, 901, 904], [100, 101, 205, 216, 318, 319, 327]),
        (OPERATOR, [100, 101, 102, 104, 105, 205, 206, 216, 217, 318, 319, 327], [103, 322, 904]),
    ],
)
def test_by_class(who: Identity, allowed: list[int], denied: list[int]) -> None:
    assert [code for code in allowed if decide(who, NEEDED.get(code, ()), host="127.0.0.1") is not None] == []
    assert [code for code in denied if decide(who, NEEDED.get(code, ()), host="127.0.0.1") is None] == []


def test_by_address() -> None:
    near = identity(Access.BROKER_CONTROL, networks=(ip_network("10.0.0.0/8"),))
    assert decide(near, NEEDED.get(103, ()), host="10.9.9.9") is None
    assert decide(near, NEEDED.get(105, ()), host="11.0.0.1") == "x is not allowed from this address"


def test_by_cluster_and_broker() -> None:
    pinned = identity(Access.BROKER_CONTROL, clusters=frozenset({"c1"}), brokers=frozenset({"b-a"}))

    def ask(clusters: set[str], brokers: set[str]) -> str | None:
        target = Target(clusters=frozenset(clusters), brokers=frozenset(brokers))
        return decide(pinned, NEEDED.get(103, ()), host="h", target=target)

    assert ask({"c1"}, {"b-a"}) is None
    assert ask(set(), set()) is None
    assert ask({"c1"}, {"b-a", "b-b"}) == "x may not act for broker b-b"
    assert ask({"c1", "c2"}, {"b-a"}) == "x may not change cluster c2"
    many = {f"b-{n}" for n in range(9)}
    assert ask(set(), many) == "x may not act for broker b-0, b-1, b-2 and 6 more"


def test_a_limited_identity_cannot_change_the_whole_server() -> None:
    limited = identity(Access.ADMIN_WRITE, clusters=frozenset({"c1"}))
    why = decide(limited, NEEDED.get(318, ()), host="h", target=Target(whole_server=True))
    assert why is not None
    assert "the whole NameServer" in why
    assert decide(OPERATOR, NEEDED.get(318, ()), host="h", target=Target(whole_server=True)) is None


def test_by_topic() -> None:
    owner = identity(Access.ADMIN_WRITE, topics=("orders-*",))

    def ask(target: Target) -> str | None:
        return decide(owner, NEEDED.get(216, ()), host="h", target=target)

    assert ask(Target(topics=frozenset({"orders-eu"}), brokers=frozenset({"any"}))) is None
    assert ask(Target(topics=frozenset({"orders-eu", "payments"}))) == "x may not change topic payments"
    assert "all topics of a broker" in str(ask(Target(all_topics=True)))
    assert "the whole NameServer" in str(ask(Target(whole_server=True)))
    assert decide(OPERATOR, NEEDED.get(205, ()), host="h", target=Target(all_topics=True)) is None
