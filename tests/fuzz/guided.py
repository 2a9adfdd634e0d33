"""Fuzzing that coverage leads: `python -m tests.fuzz.guided TARGET [libFuzzer options]`, where atheris is installed.

It begins with the corpus of the target and keeps what reaches new code in build/fuzz/TARGET. It ends at the first input
that breaks a promise, and leaves it in the current folder.
"""

import hashlib
import importlib
import sys
from pathlib import Path
from typing import Final

from tests.fuzz.mutation import seeds

_KEPT: Final = Path("build") / "fuzz"


def main(arguments: list[str]) -> None:
    """Never returns: libFuzzer ends the process."""
    atheris = importlib.import_module("atheris")  # no requirement: it has no wheel for most Pythons
    with atheris.instrument_imports(include=["routebook"]):
        targets = importlib.import_module("tests.fuzz.targets").TARGETS
    if not arguments or arguments[0] not in targets:
        raise SystemExit(f"which of {', '.join(targets)}?")
    name, *options = arguments
    corpus, make = targets[name]
    folder = _KEPT / name
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds(corpus):
        (folder / hashlib.sha256(seed).hexdigest()[:16]).write_bytes(seed)
    atheris.Setup(["guided", *options, str(folder)], make())
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
