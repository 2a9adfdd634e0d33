"""The lake's process under `routebook up`: it steps back behind the NameServer, and ends when that does."""

import ctypes
import os
import signal
import sys
from typing import Final

_NICER: Final = 10
_PR_SET_PDEATHSIG: Final = 1


def main() -> int:
    """`lake follow` with the arguments that were given."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == 1:  # the NameServer was gone before this was said
            return 0
    os.nice(_NICER)
    from routebook.cli import main as routebook

    return routebook(["lake", "follow", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
