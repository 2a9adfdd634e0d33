"""A NameServer is killed and restarted during sends: failed sends with Java and with Routebook."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.interop.programs.nameserver_probe import Server, wait_until
from tests.interop.programs.senders import Sends, sends_while
from tests.support.java import NAMESERVER_FLAGS, JavaProcess, java_broker
from tests.support.process import serving, start

pytestmark = [pytest.mark.java, pytest.mark.slow]

SECONDS: Final = 30


def through_java(home: Path) -> Sends:
    main = "org.apache.rocketmq.namesrv.NamesrvStartup"

    def nameserver(port: int) -> tuple[JavaProcess, Server]:
        settings = {"bindAddress": "127.0.0.1", "listenPort": port}
        process = JavaProcess(main, home=home / "ns", properties=settings, flags=NAMESERVER_FLAGS)
        line = process.wait_for_line("The Name Server boot success")
        return process, Server(("127.0.0.1", int(line.rpartition(":")[2])))

    process, server = nameserver(0)
    try:
        with java_broker(home / "broker", nameserver=server.host_port, registerNameServerPeriod=30_000):
            server.wait_for_members("b-a", {0})

            def restart() -> None:
                nonlocal process
                process.stop()
                process, _ = nameserver(server.host_port[1])

            return sends_while(restart, nameservers=server.address, home=home / "senders", seconds=SECONDS)
    finally:
        process.stop()


def through_routebook(home: Path) -> Sends:
    with serving(home / "ns") as first:
        server = Server(first.address)
        second = None
        try:
            with java_broker(home / "broker", nameserver=server.host_port, registerNameServerPeriod=30_000):
                server.wait_for_members("b-a", {0})
                wait_until(lambda: "TBW102" in server.topics(), "the broker's topics are there")

                def restart() -> None:
                    nonlocal second
                    first.kill()
                    second = start(home / "ns", listen=server.address)
                    second.wait_until_listening()

                return sends_while(restart, nameservers=server.address, home=home / "senders", seconds=SECONDS)
        finally:
            if second is not None:
                second.kill()


@pytest.mark.program("Java client", "5.5.0", "NameServer killed and started again under producers")
def test_a_restart_fails_no_more_sends_than_with_java(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    java, own = through_java(tmp_path / "java"), through_routebook(tmp_path / "routebook")
    record_property(
        "seen",
        f"newcomers without a route for {own.longest_s:.1f} s, Java {java.longest_s:.1f} s; "
        f"sends failed: {own.failed} and {own.new_failed}, Java {java.failed} and {java.new_failed}",
    )
    assert own.sent > 100
    assert own.failed <= java.failed
    assert own.new_failed <= java.new_failed
    assert own.longest_s <= java.longest_s
