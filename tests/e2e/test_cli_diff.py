"""`diff` and `doctor` with two NameServers, one of which lacks a broker."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.command_line import routebook
from tests.support.process import serving
from tests.support.registered_brokers import broker, registered, topic


@contextmanager
def two_nameservers(folder: Path) -> Iterator[tuple[str, str]]:
    with serving(folder / "one") as one, serving(folder / "two") as two:
        yield f"{one.host}:{one.port}", f"{two.host}:{two.port}"


@contextmanager
def listening() -> Iterator[str]:
    """An address that takes connections, as a living broker's does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


A = broker("b-a", topic("orders"), topic("payments"), topic("b-a"), topic("c1"))
B = broker("b-b", topic("orders"), topic("b-b"), topic("c1"))


def test_a_missing_broker_and_its_topics(tmp_path: Path) -> None:
    with two_nameservers(tmp_path) as (one, two), listening() as addr:
        cut_off = broker("b-b", topic("orders"), topic("only-b"), topic("b-b"), addr=addr)
        with registered(one, [A, cut_off]), registered(two, [A]):
            ran = routebook("diff", one, two)
            assert (ran.code, ran.err) == (1, "")
            assert ran.out.splitlines() == [
                f"only broker b-b and its 3 topics are missing at {two}",
                f"    addresses: 0={addr}",
                "    topics: b-b, only-b, orders",
                f"    likely stale: {two} (the broker accepts connections)",
            ]
            document = json.loads(routebook("diff", one, two, "--json").out)
            assert document["agree"] is False
            assert [(found["kind"], found["subject"]) for found in document["differences"]] == [("broker", "b-b")]
            assert document["differences"][0]["topics"] == ["b-b", "only-b", "orders"]
            assert document["differences"][0]["stale"] == [two]


def test_no_differences(tmp_path: Path) -> None:
    with two_nameservers(tmp_path) as (one, two), registered(one, [A, B]), registered(two, [B, A]):
        ran = routebook("diff", f"{one};{two}")
        assert ran == (0, "2 NameServers agree: 2 brokers, 5 topics\n", "")


def test_every_other_kind_of_difference(tmp_path: Path) -> None:
    fewer = broker("b-a", topic("orders", write=4), topic("payments"), topic("b-a"))
    with two_nameservers(tmp_path) as (one, two), registered(one, [A]), registered(two, [fewer]):
        assert routebook("broker", "wipe", "b-a", "-n", one).code == 0
        assert routebook("kv", "put", "shop", "open", "yes", "-n", two).code == 0
        assert routebook("topic", "order", "orders", "b-a:4", "-n", one).code == 0
        assert routebook("config", "set", "orderMessageEnable=true", "-n", one).code == 0
        ran = routebook("diff", one, two, "--namespace", "shop")
        assert ran.code == 1
        heads = [line for line in ran.out.splitlines() if not line.startswith(" ")]
        assert sorted(heads) == sorted(
            [
                f"1 topic of broker b-a is missing at {two}",
                f"3 topics of broker b-a: permissions differ: R-- at {one}, RW- at {two}",
                f"1 topic of broker b-a: queues differ: 8 to read, 8 to write at {one}, 8 to read, 4 to write at {two}",
                f"order of orders differs: b-a:4 at {one}, none at {two}",
                f"KV ORDER_TOPIC_CONFIG/orders differs: b-a:4 at {one}, none at {two}",
                f"KV shop/open differs: none at {one}, yes at {two}",
                f"setting orderMessageEnable differs: true at {one}, false at {two}",
            ]
        )


def test_doctor_reports_differences_and_closed_broker_ports(tmp_path: Path) -> None:
    with two_nameservers(tmp_path) as (one, two), registered(one, [A, B]), registered(two, [A]):
        ran = routebook("doctor", "-n", f"{one};{two}")
        assert ran.code == 1
        assert f"error: broker b-a id 0 at {A.addr} refused the connection: nothing listens there\n" in ran.out
        assert f"warning: broker b-b and its 3 topics are missing at {two}\n" in ran.out
        assert "warning: 1 topic only on broker b-a: payments\n" in ran.out
        assert ran.out.endswith("; checked 2 NameServers, 2 brokers, 5 topics\n")
        document = json.loads(routebook("doctor", "-n", f"{one};{two}", "--json").out)
        assert document["healthy"] is False
        checks = {finding["check"] for finding in document["findings"]}
        assert checks == {"reachable", "agreement", "placement"}


def test_doctor_reports_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    with serving(tmp_path) as process, listening() as addr:
        address = f"{process.host}:{process.port}"
        with registered(address, [broker("b-a", topic("b-a"), topic("c1"), addr=addr)]):
            ran = routebook("doctor", "-n", address, "--timeout", "0.5")
            assert ran.code == 1
            hangs = f"warning: broker b-a id 0 at {addr} accepts connections but did not answer within 0.5 s"
            assert ran.out.splitlines()[0] == hangs


def test_a_long_list_of_topics_is_shortened(tmp_path: Path) -> None:
    names = [f"t{number:02}" for number in range(25)]
    with two_nameservers(tmp_path) as (one, two), registered(one, [broker("b-a", *map(topic, names))]):
        assert "t19 and 5 more (--full lists them)\n" in routebook("diff", one, two).out
        assert "t23, t24\n" in routebook("diff", one, two, "--full").out
