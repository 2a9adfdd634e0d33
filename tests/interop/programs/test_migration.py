"""The steps of docs/migration.md: from a Java NameServer to Routebook and back, without a failed send."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.interop.programs.nameserver_probe import Server, wait_until
from tests.interop.programs.senders import Sends, sends_while
from tests.support.command_line import routebook
from tests.support.java import NAMESERVER_FLAGS, PROJECT, JavaBroker, JavaProcess, java_broker
from tests.support.process import start
from tests.support.programs import mqadmin

pytestmark = [pytest.mark.java, pytest.mark.slow]

SECONDS: Final = 25


def java(home: Path) -> tuple[JavaProcess, Server]:
    """A Java NameServer."""
    settings = {"bindAddress": "127.0.0.1", "listenPort": 0}
    main = "org.apache.rocketmq.namesrv.NamesrvStartup"
    process = JavaProcess(main, home=home, properties=settings, flags=NAMESERVER_FLAGS)
    line = process.wait_for_line("The Name Server boot success")
    return process, Server(("127.0.0.1", int(line.rpartition(":")[2])))


class Operator:
    """The steps of an operator, with the programs of an operator."""

    def __init__(self, broker: JavaBroker, home: Path) -> None:
        self._broker = f"127.0.0.1:{broker.port}"
        self._home = home

    def configure_broker(self, *servers: Server) -> None:
        """mqadmin updateBrokerConfig: set the NameServers of the broker."""
        addresses = ";".join(server.address for server in servers)
        printed = mqadmin(f"updateBrokerConfig -b {self._broker} -k namesrvAddr -v {addresses}", home=self._home)
        assert "update broker config success" in printed, printed

    def wait_until_equal(self, one: Server, other: Server) -> None:
        """Wait until `routebook diff` finds no difference."""
        wait_until(
            lambda: routebook("diff", one.address, other.address).code == 0, f"{one.address} and {other.address} agree"
        )


def move(
    operator: Operator, old: Server, new: Server, *, end_old: Callable[[], None], home: Path
) -> tuple[Sends, Sends]:
    """Replace a NameServer; return the results of producers while one is added and while the other is removed."""

    def add() -> None:
        operator.configure_broker(old, new)
        operator.wait_until_equal(old, new)

    def remove() -> None:
        operator.configure_broker(new)
        end_old()

    came = sends_while(add, nameservers=old.address, home=home / "came", seconds=SECONDS)
    both = f"{old.address};{new.address}"
    went = sends_while(remove, nameservers=both, newcomers=new.address, home=home / "went", seconds=SECONDS)
    return came, went


@pytest.mark.program("Java broker and clients", "5.5.0", "from a Java NameServer to Routebook and back: no send fails")
def test_migration_to_routebook_and_back_fails_no_send(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    first, before = java(tmp_path / "java-1")
    started = [first]
    settings: dict[str, object] = {"updateNameServerAddrPeriod": 5_000}
    try:
        before.ask(100, namespace="ORDER_TOPIC_CONFIG", key="steady", value="b-a:4")
        with java_broker(
            tmp_path / "broker", nameserver=before.host_port, flags=(), project=PROJECT, **settings
        ) as broker:
            before.wait_for_members("b-a", {0})
            operator = Operator(broker, tmp_path / "operator")

            home = tmp_path / "routebook"
            home.mkdir()
            shutil.copy(tmp_path / "java-1" / "namesrv" / "kvConfig.json", home)  # Routebook reads Java's file
            own = start(home)
            try:
                own.wait_until_listening()
                here = Server(own.address)
                there = move(operator, before, here, end_old=first.stop, home=tmp_path / "there")

                second, after = java(tmp_path / "java-2")
                started.append(second)
                after.ask(100, namespace="ORDER_TOPIC_CONFIG", key="steady", value="b-a:4")
                back = move(operator, here, after, end_old=own.kill, home=tmp_path / "back")
            finally:
                own.kill()
    finally:
        for process in started:
            process.stop()
    seen = [*there, *back]
    record_property("seen", f"{sum(one.sent + one.new_sent for one in seen)} sends, none failed")
    assert all(one.sent > 50 and one.new_sent > 5 for one in seen), seen
    assert [(one.failed, one.new_failed) for one in seen] == [(0, 0)] * 4, seen
