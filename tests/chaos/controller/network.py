"""Three hosts in network namespaces behind a bridge, and cuts between them. Needs root and iproute2.

The test's thread gets a namespace of its own with the bridge; brokers of the test have addresses there. Everything
disappears with its processes.
"""

import ctypes
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import pytest

T = TypeVar("T")

_CLONE_NEWNET: Final = 0x40000000
_NET: Final = "10.99.0"
_WAIT_S: Final = 10.0


def in_network_namespace(work: Callable[[], T]) -> T:
    """Run a function on a thread with a network namespace of its own; skip the test where that is not permitted."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nsenter", "unshare", "bridge"))):
        pytest.skip("network namespaces need root, iproute2 and util-linux")
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET) != 0:
                pytest.skip(f"network namespaces are not permitted: {os.strerror(ctypes.get_errno())}")
            results.append(work())
        except BaseException as error:  # noqa: BLE001  raised again by the thread that waits
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


class Host:
    """A network namespace with one address, held by a sleeping process."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.address = f"{_NET}.{number + 1}"
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        self.enter = ("nsenter", f"--net=/proc/{self._holder.pid}/ns/net", "--")
        deadline = time.monotonic() + _WAIT_S
        own = Path("/proc/thread-self/ns/net").readlink()
        while Path(f"/proc/{self._holder.pid}/ns/net").readlink() == own:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        _ip("link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", str(self._holder.pid))
        _ip("link", "set", self.port, "master", "br0", "up")
        self._inside("link", "set", "lo", "up")
        self._inside("addr", "add", f"{self.address}/24", "dev", "eth0")
        self._inside("link", "set", "eth0", "up")

    @property
    def port(self) -> str:
        """Its port on the bridge."""
        return f"v{self.number}"

    def unplug(self) -> None:
        """No packet reaches or leaves the host; connections stay open."""
        _ip("link", "set", self.port, "down")

    def plug(self) -> None:
        _ip("link", "set", self.port, "up")

    def cut(self, address: str) -> None:
        """The host cannot send to an address."""
        self._inside("route", "replace", "blackhole", f"{address}/32")

    def join(self, address: str) -> None:
        self._inside("route", "del", "blackhole", f"{address}/32")

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()

    def _inside(self, *arguments: str) -> None:
        subprocess.run([*self.enter, "ip", *arguments], check=True, timeout=_WAIT_S)


class Network:
    """The bridge and its hosts. Create it inside `in_network_namespace`."""

    address: Final = f"{_NET}.254"

    def __init__(self, hosts: int) -> None:
        _ip("link", "set", "lo", "up")
        _ip("link", "add", "br0", "type", "bridge")
        _ip("addr", "add", f"{self.address}/24", "dev", "br0")
        _ip("link", "set", "br0", "up")
        self.hosts = [Host(number) for number in range(hosts)]

    def broker_address(self, number: int) -> str:
        """A further address of the test's own namespace."""
        address = f"{_NET}.{100 + number}"
        _ip("addr", "add", f"{address}/24", "dev", "br0")
        return address

    def isolate(self, *hosts: Host) -> None:
        """These hosts cannot reach each other; all reach the brokers and the other hosts."""
        self._set_isolated(hosts, "on")

    def rejoin(self, *hosts: Host) -> None:
        self._set_isolated(hosts, "off")

    def close(self) -> None:
        for host in self.hosts:
            host.close()

    def _set_isolated(self, hosts: tuple[Host, ...], state: str) -> None:
        for host in hosts:
            command = ["bridge", "link", "set", "dev", host.port, "isolated", state]
            subprocess.run(command, check=True, timeout=_WAIT_S)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, timeout=_WAIT_S)
