"""Starts the compared NameServers, each on a free port with its usual settings."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benchmarks.suite.native import CACHE, program
from routebook import __version__
from routebook.codes import VERSION_5_5_0
from routebook.wire.codec import encode
from routebook.wire.command import Command
from routebook.wire.peer import Peer
from tests.support.free_ports import free_port
from tests.support.java import PROJECT, JavaError, fetch_jars

JAVA_VERSION: Final = "5.5.0"
RUST_VERSION: Final = "1.0.0"
JAVA_HEAP: Final = "-Xmx4g"  # as in RocketMQ's start script, but without a minimum
_START_S: Final = 120.0
_POLL_S: Final = 0.002
_TEMPORARY: Final = CACHE / "run"
_RUST: Final = CACHE / "rust" / "bin" / "rocketmq-namesrv-rust"


class Missing(RuntimeError):
    """A peer that is not available; the text says why and what to do."""


class Connection:
    """A blocking connection with one request at a time."""

    def __init__(self, port: int, *, timeout_s: float = 120) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
        self._peer = Peer()
        self._opaques = count(1)

    def ask(
        self,
        code: int,
        ext: dict[str, str | None] | None = None,
        body: bytes | None = None,
        *,
        version: int = VERSION_5_5_0,
    ) -> Command:
        command = Command(code=code, opaque=next(self._opaques), version=version, ext=ext, body=body)
        self._socket.sendall(encode(command))
        while (answer := self._peer.next_command()) is None:
            data = self._socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._peer.feed(data)
        return answer

    def close(self) -> None:
        self._socket.close()


class Server:
    """A running server process. `start_s` is the time from its start to its first answer."""

    def __init__(
        self,
        name: str,
        command: Callable[[int, Path], Sequence[str]],
        *,
        environment: Mapping[str, str] | None = None,
        port_from_output: bool = False,
    ) -> None:
        _TEMPORARY.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.home = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_TEMPORARY))
        self.port = free_port()
        with (self.home / "output.log").open("w") as log:
            began = time.perf_counter()
            self._process = subprocess.Popen(
                command(self.port, self.home),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if port_from_output else log,
                stderr=log,
                env={**os.environ, **(environment or {})},
                cwd=self.home,
                text=True,
            )
        try:
            if port_from_output:
                assert self._process.stdout is not None
                self.port = int(self._process.stdout.readline().split()[-1])
            self._wait_for_answer(began)
        except BaseException:
            self.stop()
            raise
        self.start_s = time.perf_counter() - began

    def _wait_for_answer(self, began: float) -> None:
        while time.perf_counter() - began < _START_S:
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                self.ask(105, {"topic": "no-such-topic"})
                return
            time.sleep(_POLL_S)
        output = (self.home / "output.log").read_text(errors="replace")[-2000:]
        raise Missing(f"{self.name} does not answer. Its output:\n{output}")

    def ask(self, code: int, ext: dict[str, str | None]) -> Command:
        """Send one request over a new connection."""
        with contextlib.closing(Connection(self.port, timeout_s=30)) as connection:
            return connection.ask(code, ext)

    def cpu_s(self) -> float:
        """CPU time of all threads, in nanosecond resolution."""
        used_ns = 0
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                used_ns += int((task / "schedstat").read_text().split()[0])
        return used_ns / 1e9

    def memory_mib(self, what: str = "VmRSS") -> float:
        """Resident memory: `VmRSS` is the current value, `VmHWM` the peak."""
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(what + ":"):
                return int(line.split()[1]) / 1024
        raise LookupError(what)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def routebook(*options: str, http: str = "127.0.0.1:0", environment: Mapping[str, str] | None = None) -> Server:
    """Routebook with its defaults: journal, history, metrics and HTTP."""

    def command(port: int, home: Path) -> list[str]:
        listen = ["--listen", f"127.0.0.1:{port}", "--http", http, "--home", str(home / "home")]
        return [sys.executable, "-m", "routebook", "serve", *listen, *options]

    return Server("routebook", command, environment=environment)


def java() -> Server:
    """Java's NameServer with default JVM settings, logging warnings only."""
    jars = _java_jars()

    def command(port: int, home: Path) -> list[str]:
        settings = home / "settings.properties"
        settings.write_text(f"bindAddress=127.0.0.1\nlistenPort={port}\n")
        start = ["java", "-server", JAVA_HEAP, f"-Duser.home={home}", "-cp", f"{PROJECT}{os.pathsep}{jars}/*"]
        return [*start, "org.apache.rocketmq.namesrv.NamesrvStartup", "-c", str(settings)]

    return Server("java", command, environment={"ROCKETMQ_HOME": str(_TEMPORARY)})


def build_rust() -> None:
    """Build the Rust NameServer once; that takes half an hour on two busy cores."""
    if _RUST.exists():
        return
    if shutil.which("cargo") is None:
        raise Missing("`cargo` not found: install Rust")
    command = ["cargo", "install", "rocketmq-namesrv", "--version", RUST_VERSION, "--root", str(CACHE / "rust")]
    if subprocess.run(command, check=False).returncode != 0:
        raise Missing(f"rocketmq-namesrv {RUST_VERSION} build failed")


def rust() -> Server:
    """The Rust NameServer with default settings, logging warnings only."""
    program = _built_rust()

    def command(port: int, home: Path) -> list[str]:
        start = [str(program), "--bindAddress", "127.0.0.1", "--listenPort", str(port)]
        return [*start, "--rocketmqHome", str(home), "--kvConfigPath", str(home / "kv.json"), "--log-filter", "warn"]

    return Server("rust", command, environment={"ROCKETMQ_HOME": str(_TEMPORARY)})


def limit(body: bytes) -> Server:
    """The C server that returns the same answer to every request."""

    def command(_port: int, home: Path) -> list[str]:
        (home / "body").write_bytes(body)
        return [str(program("limit")), str(home / "body")]

    return Server("limit", command, port_from_output=True)


def require(name: str) -> None:
    """Raise Missing if a peer cannot be started."""
    if name == "java":
        _java_jars()
    elif name == "rust":
        _built_rust()


def _java_jars() -> Path:
    if shutil.which("java") is None:
        raise Missing("`java` not found: install a JDK (17 or later)")
    try:
        return fetch_jars()
    except (JavaError, OSError) as problem:
        raise Missing(f"RocketMQ {JAVA_VERSION} cannot be downloaded: {problem}") from None


def _built_rust() -> Path:
    if not _RUST.exists():
        raise Missing("rocketmq-namesrv is not built: run `python -m benchmarks.run --build-rust` (half an hour)")
    return _RUST


STARTERS: Final[dict[str, Callable[[], Server]]] = {"routebook": routebook, "java": java, "rust": rust}


def versions() -> dict[str, str]:
    """Versions of the compared programs."""
    return {
        "routebook": f"{__version__}, Python {sys.version.split()[0]}",
        "java": f"RocketMQ {JAVA_VERSION}, {_first_line('java', '-version')}, {JAVA_HEAP}",
        "rust": f"rocketmq-namesrv {RUST_VERSION}",
        "limit": _first_line("gcc", "--version"),
    }


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return f"no {command[0]}"
    lines = (done.stdout + done.stderr).splitlines()
    return lines[0].strip() if lines else ""
