"""The steps of docs/controller.md: from a Java controller to Routebook's and back, under a producer."""

import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.interop.programs.acknowledged import Producer
from tests.support.command_line import routebook
from tests.support.controlled_brokers import TOPIC, Brokers
from tests.support.controllers import controller_settings, free_address, java_controller, routebook_controller
from tests.support.process import serving

pytestmark = [pytest.mark.java, pytest.mark.slow]


def fail_over(brokers: Brokers) -> None:
    """The Controller at work: kill the master, start it again, wait until both are in sync."""
    old = brokers.master
    brokers.seconds_until_new_master(old, lambda: brokers.send_signal(old, signal.SIGKILL))
    brokers.restart(old)
    brokers.wait_in_sync(*brokers.running)
    assert brokers.master != old


@pytest.mark.program("Java brokers in controller mode", "5.5.0", "from a Java controller to Routebook's and back")
def test_controllers_are_swapped(tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    address = free_address()
    with serving(tmp_path / "ns") as nameserver, ExitStack() as stack:
        names = f"{nameserver.host}:{nameserver.port}"
        with ExitStack() as java:
            java.enter_context(java_controller(tmp_path / "java", address=address))
            brokers = Brokers(tmp_path, names, address, stack)
            brokers.start_pair()
            producer = stack.enter_context(Producer(nameservers=names, topic=TOPIC, home=tmp_path / "producer"))
            producer.wait_for_more()
            fail_over(brokers)

            new = tmp_path / "routebook"
            new.mkdir()
            file = new / "node.conf"
            settings = controller_settings(address, new)
            file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
            home = ("--home", str(new / "home"))
            ran = routebook("controller", "import", "--from", address, "-n", names, "-c", str(file), *home)
            assert ran.code == 0, ran
            master = brokers.master
        with routebook_controller(new, address=address):
            brokers.wait_in_sync(*brokers.running)
            assert brokers.master == master, "brokers keep their roles"
            producer.wait_for_more()
            fail_over(brokers)

            other = free_address()
            with java_controller(tmp_path / "java-2", address=other):
                ran = routebook("controller", "export", "--from", address, "--to", other, "-n", names)
                assert ran.code == 0, ran
            producer.wait_for_more()
        with java_controller(tmp_path / "java-2", address=address):
            brokers.wait_in_sync(*brokers.running)
            producer.wait_for_more()
            fail_over(brokers)
            producer.wait_for_more()
            report = producer.finish()
    record_property("seen", f"{report.acknowledged} messages acknowledged, {report.lost} lost")
    assert report.lost == 0
