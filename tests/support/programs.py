"""Third-party programs: downloaded and built once by their package managers, in a cache outside the repository."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from tests.support.java import COMMON_FLAGS, PROJECT, cache_root, fetch_jars

SDKS: Final = Path(__file__).parents[1] / "sdks"
OLD_BROKER: Final = PROJECT / "old"
PROXY: Final = PROJECT / "proxy"
CLIENT_FLAGS: Final = (*COMMON_FLAGS, "-Xmx128m", "-Drocketmq.client.logUseSlf4j=true")
_BUILD_TIMEOUT_S: Final = 900.0
_RUST_BUILD_TIMEOUT_S: Final = 3600.0  # about 280 crates
_RUN_TIMEOUT_S: Final = 300.0


class ProgramError(RuntimeError):
    """A program could not be built, or failed; the message contains its output."""


def compiled_java(*names: str) -> Path:
    """The folder with these compiled classes of tests/java."""
    sources = [PROJECT / f"{name}.java" for name in names]

    def build(folder: Path) -> None:
        _run(["javac", "-encoding", "UTF-8", "-cp", f"{fetch_jars()}/*", "-d", str(folder), *map(str, sources)], folder)

    return _built(f"classes-{'-'.join(names)}", sources, build)


def go_program() -> Path:
    """The compiled round trip of the Go SDK."""
    sources = [SDKS / "go" / "go.mod", SDKS / "go" / "main.go"]

    def build(folder: Path) -> None:
        for source in sources:
            shutil.copy(source, folder)
        _run(["go", "mod", "tidy"], folder)
        _run(["go", "build", "-o", "interop", "."], folder)

    return _built("go", sources, build) / "interop"


def node_program() -> Path:
    """The round trip of the Node SDK, with its packages."""
    sources = [SDKS / "node" / "package.json", SDKS / "node" / "roundtrip.js"]

    def build(folder: Path) -> None:
        for source in sources:
            shutil.copy(source, folder)
        _run(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], folder)

    return _built("node", sources, build) / "roundtrip.js"


def rust_program(*, build: bool) -> Path | None:
    """The round trip of the Rust SDK; None if it is not built. With `build`, build it, in 15 minutes or more."""
    sources = [SDKS / "rust" / "Cargo.toml", SDKS / "rust" / "main.rs"]

    def compile_it(folder: Path) -> None:
        for source in sources:
            shutil.copy(source, folder)
        # outside the folder: the compiled crates stay when the program changes
        command = ["cargo", "build", "--quiet", "--target-dir", str(folder.parent / "rust-target")]
        _run(command, folder, timeout_s=_RUST_BUILD_TIMEOUT_S)
        shutil.copy(folder.parent / "rust-target" / "debug" / "interop", folder)

    return _built("rust", sources, compile_it) / "interop" if build or _is_built("rust", sources) else None


def python_with(requirement: str) -> Path:
    """A Python environment with this package."""

    def build(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", str(folder / "venv")], folder)
        _run([str(folder / "venv/bin/python"), "-m", "pip", "install", "--quiet", requirement], folder)

    name = f"python-{requirement.replace('==', '-')}-{sys.version_info.major}.{sys.version_info.minor}"
    return _built(name, [], build) / "venv/bin/python"


def run(command: Iterable[str], *, home: Path, timeout_s: float = _RUN_TIMEOUT_S) -> str:
    """The output of a program; an error if it fails."""
    home.mkdir(parents=True, exist_ok=True)
    return _run(list(command), home, timeout_s=timeout_s, keep_home=False)


def java_program(main: str, *arguments: str, flags: tuple[str, ...] = (), home: Path) -> list[str]:
    """The command for a program of tests/java."""
    class_path = os.pathsep.join([str(PROJECT / "silent"), str(compiled_java(main)), f"{fetch_jars()}/*"])
    return ["java", *CLIENT_FLAGS, f"-Duser.home={home}", *flags, "-cp", class_path, main, *arguments]


def mqadmin(*commands: str, home: Path) -> str:
    """The output of these commands."""
    lines = "".join("\t".join(command.split()) + "\n" for command in commands)
    home.mkdir(parents=True, exist_ok=True)
    return _run(java_program("MqAdmin", home=home), home, timeout_s=_RUN_TIMEOUT_S, given=lines, keep_home=False)


def _built(name: str, sources: Iterable[Path], build: Callable[[Path], None]) -> Path:
    """A folder made by `build`, once for these sources. Of two processes one builds and the other waits."""
    sources = list(sources)
    folder = _folder(name)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_built(name, sources):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            build(folder)
            (folder / "complete").write_text(_digest(sources))
    return folder


def _is_built(name: str, sources: Iterable[Path]) -> bool:
    stamp = _folder(name) / "complete"
    return stamp.is_file() and stamp.read_text() == _digest(sources)


def _folder(name: str) -> Path:
    return cache_root() / "programs" / name


def _digest(sources: Iterable[Path]) -> str:
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()


def _run(
    command: list[str],
    folder: Path,
    *,
    timeout_s: float = _BUILD_TIMEOUT_S,
    given: str = "",
    keep_home: bool = True,
) -> str:
    """The output. With `keep_home=False` the folder is its home, so that it writes nothing into the user's."""
    environment = {name: value for name, value in os.environ.items() if name != "NAMESRV_ADDR"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment if keep_home else {**environment, "HOME": str(folder)},
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout_s,
        )
    except subprocess.TimeoutExpired as error:
        raise ProgramError(f"{command[0]} did not end within {timeout_s:.0f} s: {error.output!r}") from None
    if done.returncode != 0:
        raise ProgramError(f"{' '.join(command)} exited with {done.returncode}:\n{(done.stdout + done.stderr)[-6000:]}")
    return done.stdout
