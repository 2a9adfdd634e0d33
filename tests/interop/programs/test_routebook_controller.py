"""Real brokers in controller mode on Routebook's Controller, under a producer: failover, return, a third broker."""

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.interop.programs.acknowledged import Producer, Report
from tests.interop.programs.mqadmin_session import MqAdmin
from tests.interop.programs.nameserver_probe import Server, wait_until
from tests.support.controlled_brokers import TOPIC, Brokers
from tests.support.controllers import BROKER_SET, routebook_nameserver_with_controller, try_write

pytestmark = [pytest.mark.java, pytest.mark.slow]


@contextmanager
def brokers(folder: Path) -> Iterator[Brokers]:
    """A NameServer with a Controller, and two brokers in sync."""
    with (
        routebook_nameserver_with_controller(folder / "ns") as (nameserver, controller),
        ExitStack() as stack,
    ):
        made = Brokers(folder, nameserver, controller, stack)
        made.start_pair()
        yield made


def producing(made: Brokers, folder: Path) -> Producer:
    return Producer(nameservers=made.nameserver, topic=TOPIC, home=folder / "producer")


@pytest.mark.program(
    "Java brokers in controller mode", "5.5.0", "master killed under a producer, started again, a third broker joins"
)
def test_a_killed_master_is_replaced_and_returns_as_a_slave(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with brokers(tmp_path) as made, producing(made, tmp_path) as producer:
        producer.wait_for_more()
        old = made.master
        new = made.other(old)
        took_s = made.seconds_until_new_master(old, lambda: made.send_signal(old, signal.SIGKILL))
        assert made.master == new
        producer.wait_for_more()

        made.restart(old)
        made.wait_in_sync(old, new)
        assert made.master == new, "the former master is a slave"
        third = made.start("three")
        made.wait_in_sync(old, new, third)
        state = made.controller.state()
        assert state is not None
        assert set(state.replicas) == {1, 2, 3}
        producer.wait_for_more()

        # and back: what the new master acknowledged is on both others
        made.send_signal(new, signal.SIGKILL)
        wait_until(lambda: try_write(made.master, TOPIC) and made.master != new, "another broker is master")
        producer.wait_for_more()
        report = producer.finish()
    record_property("seen", f"new master writes after {took_s:.2f} s; {_shown(report)}")
    assert report.lost == 0


@pytest.mark.program("Java brokers in controller mode", "5.5.0", "master frozen under a producer, continued")
def test_a_frozen_master_is_replaced_and_continues_as_a_slave(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with brokers(tmp_path) as made, producing(made, tmp_path) as producer:
        producer.wait_for_more()
        old = made.master
        took_s = made.seconds_until_new_master(old, lambda: made.send_signal(old, signal.SIGSTOP))
        new = made.master
        assert new != old
        producer.wait_for_more()
        made.send_signal(old, signal.SIGCONT)
        made.wait_in_sync(old, new)
        assert made.master == new
        producer.wait_for_more()
        report = producer.finish()
    record_property("seen", f"new master writes after {took_s:.1f} s; {_shown(report)}")
    assert report.lost == 0


def _shown(report: Report) -> str:
    return f"{report.acknowledged} messages acknowledged, {report.lost} lost"


@pytest.mark.program("mqadmin", "5.5.0", "all commands for a Controller, with Routebook's")
def test_mqadmin_works_with_the_controller(tmp_path: Path) -> None:
    with brokers(tmp_path) as made, MqAdmin(tmp_path / "admin") as admin:
        controller, nameserver = made.controller.address, made.nameserver
        old = made.master
        new = made.other(old)
        state = made.controller.state()
        assert state is not None
        ids = {address: number for number, address in state.replicas.items()}

        metadata = admin.run(f"getControllerMetaData -a {controller}")
        assert "#ControllerGroup\tg1" in metadata
        assert f"#ControllerLeaderAddress\t{controller}" in metadata
        assert f"#Peer:\tn0:{controller}" in metadata

        config = admin.run(f"getControllerConfig -a {controller}")
        assert f"============{controller}============" in config
        assert "enableElectUncleanMaster" in config
        done = admin.run(f"updateControllerConfig -a {controller} -k electMasterMaxRetryCount -v 5")
        assert f"update controller config success![{controller}]" in done
        refused = admin.run(f"updateControllerConfig -a {controller} -k configStorePath -v /x")
        assert "CODE: 16" in refused

        for line in (f"getSyncStateSet -a {controller} -b {BROKER_SET}", f"getSyncStateSet -a {controller} -c C1"):
            shown = admin.run(f"{line} -n {nameserver}")
            assert f"#MasterAddr\t{old}" in shown
            assert "#SyncStateSetNums\t2" in shown
            assert shown.count("alive=true") == 2

        assert try_write(old, TOPIC)  # a broker records an epoch only if its log has grown since the last one
        elected = admin.run(f"electMaster -a {controller} -b {ids[new]} -bn {BROKER_SET} -c C1")
        assert "#ClusterName\tC1" in elected, elected
        assert f"#BrokerMasterAddr\t{new}" in elected
        wait_until(lambda: try_write(new, TOPIC), f"{new} accepts a write")
        made.wait_in_sync(old, new)
        assert made.master == new

        epochs = admin.run(f"getBrokerEpoch -n {nameserver} -b {BROKER_SET}")
        assert "EpochEntry{epoch=2" in epochs

        alive = admin.run(f"cleanBrokerMetadata -a {controller} -bn {BROKER_SET} -c C1 -b {ids[old]}")
        assert "is still alive, clean up failure" in alive
        made.running[old].stop()
        made.controller.wait_in_sync(new)
        cleaned = admin.run(f"cleanBrokerMetadata -a {controller} -bn {BROKER_SET} -c C1 -b {ids[old]}")
        assert f"clear broker {BROKER_SET} metadata from controller success!" in cleaned
        after = made.controller.state()
        assert after is not None
        assert after.replicas == {ids[new]: new}
        Server(_host_port(nameserver)).wait_for_members(BROKER_SET, {0})


def _host_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
