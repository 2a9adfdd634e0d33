"""Real RocketMQ 5.5.0 programs: downloaded once by Maven, started on free ports, always stopped."""

import contextlib
import fcntl
import hashlib
import os
import queue
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.support.free_ports import free_port

VERSION: Final = "5.5.0"
PROJECT: Final = Path(__file__).parents[1] / "java"  # pom.xml and the quiet logback file

NAMESERVER_FLAGS: Final = ("-Xms64m", "-Xmx128m")
BROKER_FLAGS: Final = ("-Xms128m", "-Xmx256m", "-XX:MaxDirectMemorySize=256m")
COMMON_FLAGS: Final = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")
START_TIMEOUT_S: Final = 300.0  # 6 s on an idle machine
STOP_TIMEOUT_S: Final = 60.0


class JavaError(RuntimeError):
    """A Java program could not be downloaded or did not start; the message contains its output."""


def cache_root() -> Path:
    """Folder of downloaded programs, outside the repository."""
    chosen = os.environ.get("ROUTEBOOK_TEST_CACHE")
    return Path(chosen) if chosen else Path.home() / ".cache" / "routebook"


def cache_folder(project: Path = PROJECT) -> Path:
    """Folder of the jars of a project."""
    return cache_root() / "java" / (VERSION if project == PROJECT else f"{VERSION}-{project.name}")


def jars_present(project: Path = PROJECT) -> bool:
    """Whether all jars were downloaded, so that Maven is not needed."""
    stamp = cache_folder(project) / "complete"
    return stamp.is_file() and stamp.read_text() == _pom_digest(project)


def fetch_jars(project: Path = PROJECT) -> Path:
    """The folder with all jars; downloads them once. Of two processes one downloads and the other waits."""
    folder = cache_folder(project)
    if jars_present(project):
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if jars_present(project):
            return folder
        part = folder.with_name(f"{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        # fmt: off
        command = ["mvn", "--quiet", "--batch-mode", "--file", str(project / "pom.xml"),
                   "dependency:copy-dependencies", f"-DoutputDirectory={part}"]
        # fmt: on
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise JavaError(f"Maven could not download {project.name}:\n{(done.stdout + done.stderr)[-4000:]}")
        (part / "complete").write_text(_pom_digest(project))
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
    return folder


def _pom_digest(project: Path) -> str:
    return hashlib.sha256((project / "pom.xml").read_bytes()).hexdigest()


class JavaProcess:
    """A running Java program, stopped at the end of its context; its output is in `log`."""

    def __init__(
        self,
        main: str,
        *,
        home: Path,
        properties: Mapping[str, object],
        flags: tuple[str, ...],
        project: Path = PROJECT,
        arguments: tuple[str, ...] | None = None,
    ) -> None:
        """`arguments` replace `-c FILE`; `project` is the folder of the pom with the jars."""
        home.mkdir(parents=True, exist_ok=True)
        settings = home / "settings.properties"
        settings.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self.home = home
        self.main = main
        self.log = home / "output.log"
        # fmt: off
        command = ["java", *COMMON_FLAGS, *flags, f"-Duser.home={home}",
                   "-cp", f"{PROJECT}{os.pathsep}{fetch_jars(project)}/*", main,
                   *(("-c", str(settings)) if arguments is None else arguments)]
        # fmt: on
        environment = {**os.environ, "ROCKETMQ_HOME": str(home)}
        environment.pop("NAMESRV_ADDR", None)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment,
            cwd=home,
        )
        # If the test process is killed, its end of this pipe closes and the watchdog kills the JVM.
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", f"cat >/dev/null; kill -9 {self.process.pid} 2>/dev/null"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()

    def _read_output(self) -> None:
        assert self.process.stdout is not None
        with self.log.open("w") as log:
            for line in self.process.stdout:
                log.write(line)
                log.flush()
                self._lines.put(line)
        self._lines.put(None)

    def wait_for_line(self, wanted: str) -> str:
        """Wait for the first line of output with `wanted`."""
        deadline = time.monotonic() + START_TIMEOUT_S
        with contextlib.suppress(queue.Empty):
            while (line := self._lines.get(timeout=max(0.0, deadline - time.monotonic()))) is not None:
                if wanted in line:
                    return line
        state = "ended" if self.process.poll() is not None else f"did not print it within {START_TIMEOUT_S:.0f} s"
        raise JavaError(f"{self.main} {state}; wanted {wanted!r}. Output:\n{self.output()}")

    def output(self) -> str:
        """The end of its output so far."""
        return self.log.read_text(errors="replace")[-6000:] if self.log.exists() else ""

    def stop(self) -> None:
        """Kill it and release its resources."""
        try:
            if self.process.poll() is None:
                self.process.kill()
            self.process.wait(STOP_TIMEOUT_S)
        finally:
            self._watchdog.kill()
            self._watchdog.wait()
            if self._watchdog.stdin is not None:
                self._watchdog.stdin.close()
            self._reader.join(STOP_TIMEOUT_S)
            if self.process.stdout is not None:
                self.process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is not None:
            error.add_note(f"output of {self.main}: {self.log}")


class JavaBroker(JavaProcess):
    """A broker; `port` is its advertised port."""

    port = 0


@contextlib.contextmanager
def java_nameserver(home: Path, **properties: object) -> Iterator[tuple[str, int]]:
    """A Java NameServer on a free port of 127.0.0.1, with an empty home; yields its address."""
    with java_nameserver_process(home, **properties) as (_, address):
        yield address


@contextlib.contextmanager
def java_nameserver_process(home: Path, **properties: object) -> Iterator[tuple[JavaProcess, tuple[str, int]]]:
    """The same; yields also the process."""
    settings = {"bindAddress": "127.0.0.1", "listenPort": 0, **properties}
    main = "org.apache.rocketmq.namesrv.NamesrvStartup"
    with JavaProcess(main, home=home, properties=settings, flags=NAMESERVER_FLAGS) as process:
        line = process.wait_for_line("The Name Server boot success")
        yield process, ("127.0.0.1", int(line.rpartition(":")[2]))


@contextlib.contextmanager
def java_broker(
    home: Path,
    *,
    nameserver: tuple[str, int] | str,
    flags: tuple[str, ...] = (),
    project: Path = PROJECT,
    main: object = "org.apache.rocketmq.broker.BrokerStartup",
    **properties: object,
) -> Iterator[JavaBroker]:
    """A Java broker with a small store on free ports of 127.0.0.1; it may not be registered yet."""
    port = int(str(properties.get("listenPort", 0))) or free_port(-2, +1)  # VIP channel, replication
    settings = {
        "brokerClusterName": "C1",
        "brokerName": "b-a",
        "brokerId": 0,
        "listenPort": port,
        "namesrvAddr": nameserver if isinstance(nameserver, str) else f"{nameserver[0]}:{nameserver[1]}",
        "bindAddress": "127.0.0.1",
        "brokerIP1": "127.0.0.1",
        "brokerIP2": "127.0.0.1",
        "storePathRootDir": home / "store",
        "storePathCommitLog": home / "store" / "commitlog",
        "mappedFileSizeCommitLog": 4_194_304,
        "mappedFileSizeConsumeQueue": 60_000,
        "mappedFileSizeTimerLog": 1_048_576,
        "maxHashSlotNum": 1000,
        "maxIndexNum": 4000,
        "diskMaxUsedSpaceRatio": 95,
        "registerNameServerPeriod": 10_000,
        **properties,
    }
    with JavaBroker(
        str(main), home=home, properties=settings, flags=(*BROKER_FLAGS, *flags), project=project
    ) as process:
        process.wait_for_line("boot success")
        process.port = port
        yield process
