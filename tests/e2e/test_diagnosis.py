"""`routebook why` and `routebook maintenance plan` against a real server, for each cause."""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from routebook.client import NameServerClient
from routebook.model import Registration
from tests.support.command_line import routebook
from tests.support.process import Process, serving
from tests.support.registered_brokers import broker, registered, topic


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(tmp_path_factory.mktemp("home"), http="127.0.0.1:0") as found:
        yield found


def with_own(name: str, *topics: str) -> Registration:
    """A broker with these topics and its own, as real brokers register."""
    return broker(name, *map(topic, (*topics, name)))


def address_of(server: Process) -> str:
    return f"{server.host}:{server.port}"


def why(server: Process, name: str, *more: str) -> tuple[int, dict[str, Any]]:
    ran = routebook("why", name, "--http", server.wait_until_http(), "--json", *more)
    assert ran.err == ""
    assert isinstance(ran.code, int)
    return ran.code, json.loads(ran.out)


def cause_of(document: dict[str, Any]) -> tuple[str, str | None]:
    return document["cause"]["kind"], document["cause"]["broker"]


def test_a_closed_connection(server: Process) -> None:
    with registered(address_of(server), [with_own("b-closed", "t-closed")]):
        code, found = why(server, "t-closed")
        assert (code, found["cause"], found["state"]) == (0, None, "available")
        before_ms = found["at_ms"]
    server.wait_for_log("b-closed")
    code, found = why(server, "t-closed")
    assert (code, cause_of(found)) == (1, ("closed", "b-closed"))
    assert found["evidence"]
    code, found = why(server, "t-closed", "--at", str(before_ms))
    assert (code, found["has_route"]) == (0, True)


def test_a_clean_stop_and_a_deletion(server: Process) -> None:
    stopping, staying = with_own("b-stop", "t-stop"), with_own("b-stay", "t-deleted")

    async def unregister() -> None:
        async with NameServerClient(address_of(server)) as client:
            await client.register_broker(stopping)
            await asyncio.sleep(0.002)  # the history has at most one version of a route per millisecond
            await client.unregister_broker(
                cluster=stopping.cluster, broker=stopping.broker, addr=stopping.addr, broker_id=stopping.broker_id
            )

    asyncio.run(unregister())
    code, found = why(server, "t-stop")
    assert (code, cause_of(found)) == (1, ("clean_stop", "b-stop"))
    with registered(address_of(server), [staying]):
        assert routebook("topic", "delete", "t-deleted", "-n", address_of(server)).code == 0
        code, found = why(server, "t-deleted")
        assert (code, cause_of(found)) == (1, ("deleted", None))
        assert found["cause"]["peer"]


def test_wiped_and_restored(server: Process) -> None:
    with registered(address_of(server), [with_own("b-wiped", "t-wiped")]):
        assert routebook("broker", "wipe", "b-wiped", "-n", address_of(server)).code == 0
        code, found = why(server, "t-wiped")
        assert (code, cause_of(found), found["state"]) == (0, ("wiped", "b-wiped"), "read_only")
        assert routebook("broker", "restore", "b-wiped", "-n", address_of(server)).code == 0
        code, found = why(server, "t-wiped")
        assert (code, found["cause"]) == (0, None)


def test_an_unknown_topic_and_readable_output(server: Process) -> None:
    code, found = why(server, "t-unknown")
    assert (code, cause_of(found)) == (1, ("never_existed", None))
    ran = routebook("why", "t-unknown", "--at", "0s ago", "--http", server.wait_until_http())
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("t-unknown had no route at ")
    assert "advice: Check the spelling" in ran.out


def test_a_plan(server: Process) -> None:
    url = server.wait_until_http()
    pair = [with_own(name, "t-both") for name in ("b-one", "b-two")]
    with registered(address_of(server), [*pair, with_own("b-single", "t-single", "t-both")]):
        ran = routebook("maintenance", "plan", "b-one", "--http", url, "--json")
        found = json.loads(ran.out)
        assert (ran.code, found["safe"], found["topics_without_broker"]) == (0, True, [])
        ran = routebook("maintenance", "plan", "b-single", "--http", url, "--json")
        found = json.loads(ran.out)
        assert (ran.code, found["safe"], found["topics_without_broker"]) == (1, False, ["t-single"])
        assert found["reasons"][0]["code"] == "topics_without_broker"
        ran = routebook("maintenance", "plan", "b-single", "--http", url)
        assert (ran.code, ran.out.splitlines()[0]) == (1, "not safe: restart of b-single (cluster c1)")
        ran = routebook("maintenance", "plan", "b-none", "--http", url, "--json")
        assert (ran.code, ran.out) == (1, "")
        assert "no broker with this name" in ran.err


def test_downtime_of_the_nameserver(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as first, registered(address_of(first), [with_own("b-x", "t-x")]):
        assert why(first, "t-x")[0] == 0
        first.send(signal.SIGKILL)
        first.wait()
    down_ms = time.time_ns() // 1_000_000
    with serving(tmp_path, http="127.0.0.1:0") as second:
        code, found = why(second, "t-x", "--at", str(down_ms))
        assert (code, cause_of(found)) == (1, ("nameserver_down", None))
        code, found = why(second, "t-x")
        assert (code, found["has_route"]) == (0, True)  # recovered
