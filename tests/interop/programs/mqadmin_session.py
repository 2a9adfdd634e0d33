"""mqadmin in one JVM for many commands, and its output in comparable form."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Self

from tests.support.programs import java_program

# From hash tables of the client: the NameServer does not determine the order of these lines.
SORTED: Final = re.compile(
    r"topicList|clusterList|getNamesrvConfig|getBrokerConfig|consumerProgress|statsAll|printMsg "
)
# Measured or counted by the broker.
VOLATILE: Final = re.compile(
    r"sendMessage|sendMsgStatus|checkMsgSendRT|clusterRT|topicStatus|brokerStatus|clusterList|haStatus|getBrokerConfig"
    r"|updateStaticTopic|remappingStaticTopic|consumerProgress|statsAll|resetOffsetByTime|getLiteGroupInfo|exportMetrics"
)
_EXPORTED: Final = re.compile(r"export (\S+\.json) success")


class MqAdmin:
    """A JVM that runs commands one after the other, until the end of its context."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self.home = home
        self._log = (home / "mqadmin.log").open("w")
        self._process = subprocess.Popen(
            java_program("MqAdmin", home=home, flags=(f"-Djava.io.tmpdir={home}",)),
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def run(self, line: str) -> str:
        """The output of a command, with the file that it exported."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\t".join(line.split()) + "\n")
        process.stdin.flush()
        printed: list[str] = []
        for text in process.stdout:
            if text == ">>>\n":
                output = "".join(printed[printed.index("<<<\n") + 1 :])
                return output + "".join(Path(name).read_text() for name in _EXPORTED.findall(output))
            printed.append(text)
        raise AssertionError(f"{line}: mqadmin ended: {printed}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()


def comparable(line: str, output: str, varying: Iterable[tuple[str, str]]) -> list[str]:
    """The output without what varies between runs: NameServer addresses, times, ids, measured numbers."""
    for value, name in varying:
        output = output.replace(value, name)
    output = re.sub(r"\b[0-9A-F]{24,}\b", "ID", output)
    output = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,:\d]*|\d{17}|\d{13}", "TIME", output)
    output = re.sub(r"(Path|Home)(\s+=\s+)/\S*", r"\1\2FILE", output)
    output = re.sub(r"-(java|here)\b", "", output)
    output = re.sub(r"(?<![\d.])\d+\.\d+(?:E-?\d+)?(?![\d.])", "MEASURED", output)
    output = re.sub(r"(?<=[=:\s])\d+(?= ?(?:ms|MS|milliseconds))", "MEASURED", output)
    lines = [re.sub(r"[ \t]+", " ", one).strip() for one in output.splitlines()]
    lines = [one for one in lines if one and not one.startswith(("at ", "WARNING:"))]
    if SORTED.match(line):
        lines.sort()
    return [_shape(one) for one in lines] if VOLATILE.match(line) else lines


def _shape(line: str) -> str:
    """A line without its measured numbers."""
    return re.sub(r"(?:MEASURED|N) (?:[KMGT]i)?B\b", "SIZE", re.sub(r"-?\d+", "N", line))
