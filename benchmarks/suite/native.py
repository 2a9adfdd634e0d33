"""Builds and runs the native programs of `benchmarks/native`, and reads their results."""

import hashlib
import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

SOURCE = Path(__file__).parents[1] / "native"
CACHE = Path.home() / ".cache" / "routebook-bench"
_FLAGS = ("-O2", "-Wall", "-Wextra", "-std=gnu11")


class Load(NamedTuple):
    """The result of one run. `dropped`: requests of an open loop that exceeded the limit of requests in flight."""

    answered: int
    measured: int
    failed: int
    dropped: int
    unanswered: int
    bytes: int
    elapsed_s: float
    per_second: float
    mean_us: float
    p50_us: float
    p90_us: float
    p99_us: float
    p999_us: float
    max_us: float


class LoadError(RuntimeError):
    """The load generator failed to build, ended early, or got no answer."""


def program(name: str, *, tls: bool = False) -> Path:
    """Build the program if needed and return its path, which contains a hash of its sources."""
    flags = (*_FLAGS, "-DTLS") if tls else _FLAGS
    digest = hashlib.sha256(repr(flags).encode())
    for source in (SOURCE / f"{name}.c", *sorted(SOURCE.glob("*.h"))):
        digest.update(source.read_bytes())
    built = CACHE / "native" / f"{name}-{digest.hexdigest()[:12]}"
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        part = built.with_suffix(".part")
        libraries = ["-lssl", "-lcrypto"] if tls else []  # with the headers of OpenSSL
        command = ["gcc", *flags, "-o", str(part), str(SOURCE / f"{name}.c"), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LoadError(f"gcc failed to build {name}.c:\n{done.stderr}")
        part.rename(built)
    return built


def run_load(port: int, plan: Path, *, tls: bool = False, **options: float) -> Load:
    """Run once with `connections`, `depth`, `seconds`, `warmup`, and `rate` for an open loop.

    All answers must have the code `answer`, by default 0.
    """
    command = [str(program("load", tls=tls)), "--port", str(port), "--plan", str(plan)]
    for name, value in options.items():
        command += [f"--{name}", f"{value:g}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LoadError(f"load: {done.stderr.strip()}")
    load = Load(**json.loads(done.stdout))
    if load.failed:
        raise LoadError(f"{load.failed} of {load.answered} requests were not answered as expected")
    return load


class Brokers:
    """Open connections that send registrations; see `--brokers` in load.c."""

    def __init__(self, port: int, plan: Path, *, connections: int) -> None:
        command = [str(program("load")), "--port", str(port), "--plan", str(plan)]
        command += ["--connections", str(connections), "--brokers", "on"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def send(self, start: int, count: int, *, rate: float = 0) -> Load:
        """Send the frames `start` to `start + count - 1` of the plan, one after the other or at a rate."""
        self.begin(start, count, rate=rate)
        return self.finish()

    def begin(self, start: int, count: int, *, rate: float = 0) -> None:
        """Like `send`, without waiting; `finish` waits."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{start} {count} {rate:g}\n")
        self._process.stdin.flush()

    def finish(self) -> Load:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            assert self._process.stderr is not None
            raise LoadError(f"load as brokers: {self._process.stderr.read().strip()}")
        found: dict[str, Any] = json.loads(line)
        load = Load(**found)
        if load.failed or load.unanswered:
            raise LoadError(
                f"of {load.answered} registrations {load.failed} failed and {load.unanswered} were not answered"
            )
        return load

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
