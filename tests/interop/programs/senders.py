"""Java producers during a change of their NameServers: sends and failures."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.programs import java_program

_REPORT: Final = re.compile(r"old sent (\d+) failed (\d+); new sent (\d+) failed (\d+); longest ([\d.]+)")


class Sends(NamedTuple):
    """Results of a producer that was connected before, and of new producers that had to look up the route."""

    sent: int
    failed: int
    new_sent: int
    new_failed: int
    longest_s: float  # longest interval in which new producers failed


def sends_while(
    act: Callable[[], None], *, nameservers: str, home: Path, seconds: int, newcomers: str | None = None
) -> Sends:
    """Let them send for so long, `act` after the first send, and ask what they saw.

    `newcomers` are the NameServers that those are given who come later, where they are others.
    """
    home.mkdir(parents=True)
    command = java_program("Senders", nameservers, "steady", str(seconds), newcomers or nameservers, home=home)
    with subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            printed: list[str] = []
            while (line := process.stdout.readline()) not in {"ready\n", ""}:
                printed.append(line)
            act()
            printed += process.stdout.readlines()
        finally:
            process.kill()
    found = _REPORT.search("".join(printed))
    assert found is not None, printed
    sent, failed, new_sent, new_failed = map(int, found.groups()[:4])
    return Sends(sent, failed, new_sent, new_failed, float(found[5]))
