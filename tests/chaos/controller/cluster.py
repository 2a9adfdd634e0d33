"""Three hosts, each with an etcd member and a Routebook controller: real processes that faults stop and start."""

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.request import urlopen

import msgspec

from tests.chaos.controller.network import Host, Network
from tests.support.etcd import Cluster as EtcdCluster
from tests.support.etcd import Member
from tests.support.process import Process
from tests.support.remoting_frames import Link, Request

PORT: Final = 9878
SIZE: Final = 3
PLANT: Final = Path(__file__).parent / "plant"


class Controller:
    """One controller process on a host; it keeps its home over restarts."""

    def __init__(self, host: Host, folder: Path, endpoints: list[str], *, planted: str = "") -> None:
        self.host = host
        self.name = f"n{host.number}"
        self.node = (host.address, PORT)
        peers = ";".join(f"n{number}-10.99.0.{number + 1}:{PORT}" for number in range(SIZE))
        own_first = sorted(endpoints, key=lambda endpoint: host.address not in endpoint)
        lines = {
            "controllerDLegerGroup": "g1",
            "controllerDLegerPeers": peers,
            "controllerDLegerSelfId": self.name,
            "bindAddress": "0.0.0.0",
            "scanNotActiveBrokerInterval": 500,
            "scanInactiveMasterInterval": 1000,
            "routebook.controller.engine": "etcd",
            "routebook.controller.etcdEndpoints": ",".join(own_first),
        }
        self._home = folder / self.name
        self._home.mkdir()
        self._file = self._home / "node.conf"
        self._file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        self._environment = {"PYTHONPATH": str(PLANT), "CONTROLLER_PLANT": planted} if planted else {}
        self.logs: list[str] = []
        self.process: Process | None = None

    def start(self) -> None:
        arguments = ("controller", "-c", str(self._file), "--home", str(self._home / "home"))
        self.process = Process(*arguments, environment=self._environment, prefix=self.host.enter)

    def wait_until_listening(self) -> None:
        assert self.process is not None
        self.process.wait_for_out(r"listening on \S+ \(controller\)", timeout_s=120)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.logs.append(self.process.log)
            self.process = None

    def stop(self) -> None:
        assert self.process is not None
        self.process.send(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send(signal.SIGCONT)

    def names_itself_leader(self) -> bool:
        with contextlib.suppress(OSError, AssertionError), Link(self.node) as link:
            link.send(Request(code=1005).encode())
            raw = link.receive(timeout_s=1.0)
            return raw is not None and b'"isLeader":"true"' in raw
        return False


class Cluster:
    """The network, etcd and the controllers."""

    def __init__(self, folder: Path, *, planted: str = "") -> None:
        self.network = Network(SIZE)
        hosts = self.network.hosts
        members = [Member(f"e{host.number}", folder, host=host.address, prefix=host.enter) for host in hosts]
        self.etcd = EtcdCluster(members)
        self.controllers = [Controller(host, folder, self.etcd.endpoints, planted=planted) for host in hosts]

    @property
    def nodes(self) -> list[tuple[str, int]]:
        return [controller.node for controller in self.controllers]

    async def leader(self) -> Controller:
        """The controller that leads now."""
        async with asyncio.timeout(60):
            while True:
                for controller in self.controllers:
                    if await asyncio.to_thread(controller.names_itself_leader):
                        return controller
                await asyncio.sleep(0.05)

    def etcd_leader(self) -> Member:
        """The member that leads etcd, or the first."""
        for member in self.etcd.members:
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                with urlopen(f"{member.url}/v3/maintenance/status", data=b"{}", timeout=1.0) as response:
                    status: dict[str, Any] = msgspec.json.decode(response.read())
                if status.get("leader") == status["header"]["member_id"]:  # absent while there is none
                    return member
        return self.etcd.members[0]


@contextlib.contextmanager
def running_cluster(folder: Path, *, planted: str = "") -> Iterator[Cluster]:
    cluster = Cluster(folder, planted=planted)
    try:
        with cluster.etcd:
            try:
                for controller in cluster.controllers:
                    controller.start()
                for controller in cluster.controllers:
                    controller.wait_until_listening()
                yield cluster
            finally:
                for controller in cluster.controllers:
                    controller.kill()
    finally:
        cluster.network.close()
