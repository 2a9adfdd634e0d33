"""A real PostgreSQL server on loopback, killed and started again by tests."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.free_ports import free_port, is_listening
from tests.support.missing_tools import require_tool

USER: Final = "routebook"
PASSWORD: Final = "test-password"
_FETCHED: Final = Path(__file__).parents[2] / ".cache" / "postgresql"  # by `make tools`
_START_S: Final = 60.0
_AS_OTHER_USER: Final = ("unshare", "--map-user=65534", "--map-group=65534")  # PostgreSQL refuses to run as root
_SETTINGS: Final = ("fsync=off", "shared_buffers=16MB", "max_connections=40", "listen_addresses=127.0.0.1")


class PostgresServer:
    """One server with a fixed port: `kill` and `start` keep its data. Its database is `postgres`."""

    def __init__(self, folder: Path) -> None:
        require_tool("postgres", path=_program("postgres"))
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._data, self._log = folder / "data", folder / "postgres.log"
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True)
        password = folder / "password"
        password.write_text(PASSWORD)
        self._run("initdb", "-D", self._data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={password}", "--no-sync")

    def start(self) -> None:
        settings = [*_SETTINGS, f"port={self.port}", f"unix_socket_directories={tempfile.gettempdir()}"]
        options = [word for one in settings for word in ("-c", one)]
        with self._log.open("ab") as log:
            command = [*_prefix(), _program("postgres"), "-D", str(self._data), *options]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=_environment())
        deadline = time.monotonic() + _START_S
        while not (
            is_listening(self.port) and "ready to accept" in self._log.read_text().rpartition("starting Post")[2]
        ):
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.05)

    def _last_start(self) -> str:
        return self._log.read_text().rpartition("starting PostgreSQL")[2]

    def kill(self) -> None:
        """End it without a checkpoint, as in a crash: SIGQUIT makes its child processes end, too."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(_START_S)
            self._process = None

    def _run(self, program: str, *arguments: object) -> None:
        command = [*_prefix(), _program(program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, env=_environment(), check=False)
        assert done.returncode == 0, done.stderr


@contextmanager
def postgres_server(folder: Path) -> Iterator[PostgresServer]:
    server = PostgresServer(folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()


def _program(name: str) -> str:
    for root in (_FETCHED, Path("/")):
        for path in sorted(root.glob(f"usr/lib/postgresql/*/bin/{name}")):
            return str(path)
    return shutil.which(name) or name


def _prefix() -> tuple[str, ...]:
    return _AS_OTHER_USER if os.geteuid() == 0 else ()


def _environment() -> Mapping[str, str]:
    libraries = ":".join(map(str, _FETCHED.glob("usr/lib/*-linux-gnu")))
    return {**os.environ, **({"LD_LIBRARY_PATH": libraries} if libraries else {}), "LC_ALL": "C"}
