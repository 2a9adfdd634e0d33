"""The servers that are compared, each started on a free port with what its users start it with."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benchmarks.suite.native import CACHE, program
from routebook import __version__
from routebook.wire.codec import encode
from routebook.wire.command import Command
from routebook.wire.peer import Peer as Wire
from tests.support.java import PROJECT, JavaError, fetch_jars

JAVA_VERSION: Final = "5.5.0"
RUST_VERSION: Final = "1.0.0"
JAVA_HEAP: Final = "-Xmx4g"  # that of RocketMQ's own start script, but taken only when needed
_START_S: Final = 120.0
_LOOK_S: Final = 0.002
_TEMPORARY: Final = CACHE / "run"
_RUST: Final = CACHE / "rust" / "bin" / "rocketmq-namesrv-rust"


class Missing(RuntimeError):
    """A peer that cannot be had here; the text says why and what to do."""


class Server:
    """A running server. `start_s` is the time from its start to its first answer."""

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
        self.port = _free_port()
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
            self._wait_for_an_answer(began)
        except BaseException:
            self.stop()
            raise
        self.start_s = time.perf_counter() - began

    def _wait_for_an_answer(self, began: float) -> None:
        while time.perf_counter() - began < _START_S:
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                self.ask(105, {"topic": "nobody-has-it"})
                return
            time.sleep(_LOOK_S)
        output = (self.home / "output.log").read_text(errors="replace")[-2000:]
        raise Missing(f"{self.name} does not answer. It printed:\n{output}")

    def ask(self, code: int, ext: dict[str, str | None]) -> Command:
        """One question over a connection of its own."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(encode(Command(code=code, opaque=1, ext=ext)))
            wire = Wire()
            while (answer := wire.next_command()) is None:
                data = connection.recv(1 << 20)
                if not data:
                    raise ConnectionError("closed without an answer")
                wire.feed(data)
        return answer

    def cpu_s(self) -> float:
        """What all its threads have used, to the nanosecond."""
        used_ns = 0
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                used_ns += int((task / "schedstat").read_text().split()[0])
        return used_ns / 1e9

    def memory_mib(self, what: str = "VmRSS") -> float:
        """`VmRSS` now, or `VmHWM` at most."""
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


def routebook(*options: str) -> Server:
    """With journal, history, metrics and HTTP, as `routebook serve` starts it."""

    def command(port: int, home: Path) -> list[str]:
        listen = ["--listen", f"127.0.0.1:{port}", "--http", "127.0.0.1:0", "--home", str(home / "home")]
        return [sys.executable, "-m", "routebook", "serve", *listen, *options]

    return Server("routebook", command)


def java() -> Server:
    """Java's NameServer with all that the JVM does by itself, and logging warnings only."""
    jars = _java_jars()

    def command(port: int, home: Path) -> list[str]:
        settings = home / "settings.properties"
        settings.write_text(f"bindAddress=127.0.0.1\nlistenPort={port}\n")
        start = ["java", "-server", JAVA_HEAP, f"-Duser.home={home}", "-cp", f"{PROJECT}{os.pathsep}{jars}/*"]
        return [*start, "org.apache.rocketmq.namesrv.NamesrvStartup", "-c", str(settings)]

    return Server("java", command, environment={"ROCKETMQ_HOME": str(_TEMPORARY)})


def build_rust() -> None:
    """Build the Rust NameServer, once. It takes long: half an hour on two busy cores."""
    if _RUST.exists():
        return
    if shutil.which("cargo") is None:
        raise Missing("no `cargo`: install Rust")
    command = ["cargo", "install", "rocketmq-namesrv", "--version", RUST_VERSION, "--root", str(CACHE / "rust")]
    if subprocess.run(command, check=False).returncode != 0:
        raise Missing(f"rocketmq-namesrv {RUST_VERSION} could not be built")


def rust() -> Server:
    """The Rust NameServer as it comes, logging warnings only."""
    program = _built_rust()

    def command(port: int, home: Path) -> list[str]:
        start = [str(program), "--bindAddress", "127.0.0.1", "--listenPort", str(port)]
        return [*start, "--rocketmqHome", str(home), "--kvConfigPath", str(home / "kv.json"), "--log-filter", "warn"]

    return Server("rust", command, environment={"ROCKETMQ_HOME": str(_TEMPORARY)})


def limit(body: bytes) -> Server:
    """The C server that has this one answer to everything."""

    def command(_port: int, home: Path) -> list[str]:
        (home / "body").write_bytes(body)
        return [str(program("limit")), str(home / "body")]

    return Server("limit", command, port_from_output=True)


def require(name: str) -> None:
    """Raise Missing where a peer cannot be started here."""
    if name == "java":
        _java_jars()
    elif name == "rust":
        _built_rust()


def _java_jars() -> Path:
    if shutil.which("java") is None:
        raise Missing("no `java`: install a JDK (17 or later)")
    try:
        return fetch_jars()
    except (JavaError, OSError) as problem:
        raise Missing(f"RocketMQ {JAVA_VERSION} cannot be fetched: {problem}") from None


def _built_rust() -> Path:
    if not _RUST.exists():
        raise Missing("rocketmq-namesrv is not built: `python -m benchmarks.run --build-rust` does (it takes long)")
    return _RUST


STARTERS: Final[dict[str, Callable[[], Server]]] = {"routebook": routebook, "java": java, "rust": rust}


def versions() -> dict[str, str]:
    """What is compared."""
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
