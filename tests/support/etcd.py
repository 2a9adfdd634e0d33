"""Real etcd members on loopback, started and killed by tests."""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Final, Self
from urllib.request import Request, urlopen

from tests.support.free_ports import free_port
from tests.support.missing_tools import require_tool

START_S: Final = 30.0
_FETCHED: Final = Path(__file__).parents[2] / ".cache" / "etcd" / "usr" / "bin" / "etcd"  # by `make tools`
PROGRAM: Final = shutil.which("etcd") or str(_FETCHED)


class Member:
    """One etcd process with a data folder and fixed ports, so that it can be killed and started again."""

    def __init__(self, name: str, folder: Path, *, host: str = "127.0.0.1", prefix: Sequence[str] = ()) -> None:
        """`prefix`: a program that runs etcd in the namespace of `host`; there, the ports are etcd's usual ones."""
        self.name = name
        self._folder = folder / name
        self._host, self._prefix = host, prefix
        self.client_port, self.peer_port = (2379, 2380) if prefix else (free_port(), free_port())
        self.process: subprocess.Popen[bytes] | None = None
        self._log = folder / f"{name}.log"

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self.client_port}"

    @property
    def peer_url(self) -> str:
        return f"http://{self._host}:{self.peer_port}"

    def start(self, cluster: str) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(
                        *self._prefix,
                        PROGRAM,
                        "--name",
                        self.name,
                        "--data-dir",
                        str(self._folder),
                        "--log-level",
                        "error",
                    ),
                    *("--listen-client-urls", self.url, "--advertise-client-urls", self.url),
                    *("--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url),
                    *("--initial-cluster", cluster, "--initial-cluster-state", "new"),
                ],
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process = None


class Cluster:
    """One or three members."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.members = list(members)
        self._initial = ",".join(f"{member.name}={member.peer_url}" for member in self.members)

    @property
    def endpoints(self) -> list[str]:
        return [member.url for member in self.members]

    def __enter__(self) -> Self:
        for member in self.members:
            member.start(self._initial)
        self.wait_until_healthy()
        return self

    def __exit__(self, *_error: object) -> None:
        for member in self.members:
            if member.process is not None:
                member.kill()

    def restart(self, member: Member) -> None:
        member.start(self._initial)

    def wait_until_healthy(self) -> None:
        """Until a write succeeds at every member."""
        deadline = time.monotonic() + START_S
        for member in self.members:
            while not _accepts_writes(member.url):
                if time.monotonic() > deadline:
                    raise AssertionError(f"etcd {member.name} did not start")
                time.sleep(0.05)


@contextmanager
def etcd_cluster(folder: Path, size: int) -> Iterator[Cluster]:
    require_tool("etcd", path=PROGRAM)
    with Cluster([Member(f"e{number}", folder) for number in range(size)]) as cluster:
        yield cluster


def _accepts_writes(url: str) -> bool:
    put = Request(f"{url}/v3/kv/put", data=b'{"key":"L3Rlc3Rz","value":"MQ=="}')
    try:
        with urlopen(put, timeout=2.0) as response:
            return bool(response.status == 200)
    except (OSError, HTTPException):
        return False
