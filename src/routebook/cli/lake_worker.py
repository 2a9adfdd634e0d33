"""Entry point of the lake worker process of `routebook up`: `lake follow` at a low priority."""

import ctypes
import os
import signal
import sys
from typing import Final

_NICENESS: Final = 10
_PR_SET_PDEATHSIG: Final = 1


def main() -> int:
    """Run `lake follow` with the given arguments; the process ends when the NameServer's process ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == 1:  # the NameServer ended before prctl took effect
            return 0
    os.nice(_NICENESS)
    from routebook.cli import main as routebook

    return routebook(["lake", "follow", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
