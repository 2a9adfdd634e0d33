"""Coverage-guided fuzzing with atheris: `python -m tests.fuzz.guided TARGET [libFuzzer options]`.

It starts with the corpus of the target and keeps inputs that reach new code in build/fuzz/TARGET. It stops at the first
input that violates a guarantee, and leaves it in the current folder.
"""

import hashlib
import importlib
import sys
from pathlib import Path
from typing import Final

from tests.fuzz.mutation import seeds

_KEPT: Final = Path("build") / "fuzz"


def main(arguments: list[str]) -> None:
    """Run the fuzzer; libFuzzer ends the process."""
    atheris = importlib.import_module("atheris")  # optional: most Python versions have no wheel
    with atheris.instrument_imports(include=["routebook"]):
        targets = importlib.import_module("tests.fuzz.targets").TARGETS
    if not arguments or arguments[0] not in targets:
        raise SystemExit(f"unknown target; choose one of {', '.join(targets)}")
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
