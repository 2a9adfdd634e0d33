"""A set of real brokers in controller mode: started, killed, restarted, observed."""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from tests.support.compare import parse_body
from tests.support.controllers import WAIT_S, ControllerProbe, controlled_broker, try_write
from tests.support.java import JavaBroker
from tests.support.programs import mqadmin
from tests.support.remoting import eventually
from tests.support.remoting_frames import Link, Request

TOPIC: Final = "kept"
GET_ALL_TOPIC_CONFIG: Final = 21


class Brokers:
    """Brokers of one set, by address."""

    def __init__(self, folder: Path, nameserver: str, controller: str, stack: ExitStack) -> None:
        """`stack` ends the brokers."""
        self._folder = folder
        self._stack = stack
        self.nameserver = nameserver
        self.controller = ControllerProbe(controller)
        self.running: dict[str, JavaBroker] = {}

    def start(self, name: str, **settings: object) -> str:
        """Start a broker with the home `name`; returns its address."""
        joining = controlled_broker(
            self._folder / name,
            nameserver=self.nameserver,
            controller=self.controller.address,
            cluster="C1",
            allAckInSyncStateSet="true",  # an acknowledged message is on all replicas that are in sync
            **settings,
        )
        process = self._stack.enter_context(joining)
        address = f"127.0.0.1:{process.port}"
        self.running[address] = process
        return address

    def restart(self, address: str) -> None:
        """Start a killed broker again, with its store and its port."""
        old = self.running[address]
        old.stop()
        self.start(old.home.name, listenPort=old.port)

    @property
    def master(self) -> str:
        state = self.controller.state()
        assert state is not None
        assert state.master is not None
        return state.master

    def other(self, address: str) -> str:
        (one,) = set(self.running) - {address}
        return one

    def send_signal(self, address: str, number: signal.Signals) -> None:
        self.running[address].process.send_signal(number)

    def has_topic(self, address: str) -> bool:
        """Slaves copy the topics of their master every few seconds."""
        host, _, port = address.rpartition(":")
        with Link((host, int(port))) as link:
            body = link.ask(Request(code=GET_ALL_TOPIC_CONFIG)).body
        return TOPIC in parse_body(body)["topicConfigTable"]

    def wait_in_sync(self, *addresses: str) -> float:
        took = self.controller.wait_in_sync(*addresses)
        for address in addresses:
            eventually(partial(self.has_topic, address), f"{address} has {TOPIC}", within_s=WAIT_S)
        return took

    def seconds_until_new_master(self, old: str, act: Callable[[], None]) -> float:
        """The time from `act` until the other broker accepts a write."""
        new = self.other(old)
        began = time.monotonic()
        act()
        eventually(lambda: try_write(new, TOPIC), f"{new} accepts a write", within_s=WAIT_S)
        return time.monotonic() - began

    def start_pair(self) -> None:
        """Two brokers in sync, with the topic."""
        first = self.start("one")
        printed = mqadmin(f"updateTopic -b {first} -t {TOPIC} -r 4 -w 4", home=self._folder / "mqadmin")
        assert "success" in printed, printed
        self.wait_in_sync(first, self.start("two"))
