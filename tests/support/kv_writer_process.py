"""A process that forks writers of one KV file on demand, so that killing hundreds of them takes seconds.

Each line on stdin forks one. It prints its process id, then every number that it has stored, until it is killed.
"""

import os
import sys
from itertools import count
from pathlib import Path

from routebook.kv import KvStore
from routebook.server.state.atomic_file import write_atomically
from routebook.server.state.startup_files import load_kv

_PADDING = "x" * 20_000  # so that a write takes long enough to be interrupted


def main(path: Path) -> None:
    for _ in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _write(path)
        os.waitpid(pid, 0)
        _print("dead")


def _write(path: Path) -> None:
    _print(str(os.getpid()))
    store = load_kv(path)
    for number in count(int(store.get("n", "number") or 0) + 1):
        store.put("n", "number", str(number))
        store.put("n", "padding", _PADDING)
        write_atomically(path, KvStore(store.namespaces()).encode())
        _print(str(number))


def _print(text: str) -> None:
    os.write(1, f"{text}\n".encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
