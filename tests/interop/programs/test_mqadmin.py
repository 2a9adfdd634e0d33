"""Every mqadmin command that touches a NameServer, at a Java one and at Routebook behind one broker: same words."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.interop.programs.seen import Server, wait_until
from tests.support.java import JavaBroker, java_broker, java_nameserver
from tests.support.process import serving
from tests.support.programs import java_program
from tests.support.shell import routebook

pytestmark = [pytest.mark.java, pytest.mark.slow]

# In order; {broker} is its address. A command that changes the broker runs twice, once for each NameServer; where that
# would make a difference, {which} is another name for each.
COMMANDS: Final = (
    "updateTopic -c C1 -t t1 -r 4 -w 4",
    "updateTopic -b {broker} -t t2 -r 2 -w 2",
    "updateTopic -c C1 -t t3 -r 4 -w 4 -o true",
    "updateTopic -c C1 -t own-{which} -r 4 -w 4",
    "updateTopicPerm -c C1 -t own-{which} -p 4",
    "clusterList",
    "clusterList -m",
    "clusterList -c C1",
    "topicList",
    "topicList -c",
    "topicRoute -t t1",
    "topicRoute -t t1 -l",
    "topicRoute -t t3",
    "topicRoute -t absent",
    "topicClusterList -t t1",
    "topicStatus -t t1",
    "allocateMQ -t t1 -i 10.0.0.1,10.0.0.2",
    "sendMessage -t t1 -p hello",
    "checkMsgSendRT -t t1 -s 16 -a 2",
    "producerConnection -g nobody -t t1",
    "consumerConnection -g nobody",
    "consumerStatus -g nobody",
    "updateSubGroup -c C1 -g g1",
    "getConsumerConfig -g g1",
    "consumerProgress -g g1",
    "consumerProgress",
    "resetOffsetByTime -g g1 -t t1 -s now",
    "setConsumeMode -c C1 -t t1 -g g1 -m PULL -q 0",
    "statsAll -t t1",
    "brokerStatus -c C1",
    "getBrokerConfig -c C1",
    "updateBrokerConfig -c C1 -k maxTransferCountOnMessageInMemory -v 32",
    "haStatus -c C1",
    "cleanUnusedTopic -c C1",
    "cleanExpiredCQ -c C1",
    "deleteExpiredCommitLog -c C1",
    "getNamesrvConfig",
    "updateNamesrvConfig -k waitSecondsForService -v 44",
    "updateNamesrvConfig -k kvConfigPath -v /x",
    "updateKvConfig -s shop -k open -v yes",
    "deleteKvConfig -s shop -k open",
    "updateOrderConf -m put -t t1 -v b-a:4",
    "updateOrderConf -m get -t t1",
    "topicRoute -t t1",
    "updateOrderConf -m delete -t t1",
    "updateOrderConf -m get -t t1",
    "wipeWritePerm -b b-a",
    "topicRoute -t t1",
    "addWritePerm -b b-a",
    "topicRoute -t t1",
    "updateStaticTopic -c C1 -t own-static-{which} -qn 4",
    "topicRoute -t own-static-{which}",
    "deleteSubGroup -c C1 -g g1",
    "deleteTopic -c C1 -t t2",
    "topicRoute -t t2",
)


class Mixed(NamedTuple):
    """One Java and one Routebook NameServer behind the same broker."""

    java: Server
    own: Server
    broker: JavaBroker


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    settings = {"orderMessageEnable": "true"}
    with (
        java_nameserver(tmp_path_factory.mktemp("java"), **settings) as java,
        serving(tmp_path_factory.mktemp("routebook"), settings=settings) as own,
    ):
        servers = Server(java), Server(own.address)
        addresses = ";".join(server.address for server in servers)
        with java_broker(tmp_path_factory.mktemp("broker"), nameserver=addresses) as broker:
            for server in servers:
                server.wait_for_members("b-a", {0})
            yield Mixed(*servers, broker)


class MqAdmin:
    """mqadmin in one JVM for many commands."""

    def __init__(self, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self._log = (home / "mqadmin.log").open("w")
        self._process = subprocess.Popen(
            java_program("MqAdmin", home=home),
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def run(self, line: str) -> str:
        """What a command printed."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\t".join(line.split()) + "\n")
        process.stdin.flush()
        printed: list[str] = []
        for text in process.stdout:
            if text == ">>>\n":
                return "".join(printed[printed.index("<<<\n") + 1 :])
            printed.append(text)
        raise AssertionError(f"{line}: mqadmin ended: {printed}")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._log.close()


@pytest.fixture(scope="module")
def mqadmins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MqAdmin]]:
    """One for each NameServer: `sendMessage` works once in a JVM."""
    admins = {which: MqAdmin(tmp_path_factory.mktemp(which)) for which in ("java", "here")}
    yield admins
    for admin in admins.values():
        admin.close()


def comparable(text: str, mixed: Mixed) -> list[str]:
    """The words without what differs from run to run: addresses of the NameServers, times, ids, measured numbers."""
    for server in (mixed.java, mixed.own):
        text = text.replace(server.address, "NAMESERVER").replace(str(server.host_port[1]), "PORT")
    text = re.sub(r"\b[0-9A-F]{24,}\b", "ID", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d[.,:\d]*|\d{17}|\d{13}", "TIME", text)
    text = re.sub(r"(Path|Home)(\s+=\s+)/\S*", r"\1\2FILE", text)
    text = re.sub(r"-(java|here)\b", "", text)
    text = re.sub(r"\d+\.\d+", "MEASURED", text)
    text = re.sub(r"(?<=[=:\s])\d+(?= ?(?:ms|MS|milliseconds))", "MEASURED", text)
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("at ", "WARNING:"))]


@pytest.mark.program("mqadmin", "5.5.0", f"{len(COMMANDS)} commands: the same output as at a Java NameServer")
def test_every_command_says_the_same(mixed: Mixed, mqadmins: dict[str, MqAdmin]) -> None:
    failures: list[str] = []
    for command in COMMANDS:
        said = []
        for which, server in zip(("java", "here"), (mixed.java, mixed.own), strict=True):
            line = command.format(broker=f"127.0.0.1:{mixed.broker.port}", which=which)
            if "-b 127" not in line:
                line += f" -n {server.address}"
            said.append(comparable(mqadmins[which].run(line), mixed))
        java, own = said
        if SORTED.match(line):
            java, own = sorted(java), sorted(own)
        if VOLATILE.match(line):
            java, own = [_shape(one) for one in java], [_shape(one) for one in own]
        if java != own:
            failures.append(f"{line}\n  Java: {_only(java, own)}\n  here: {_only(own, java)}")
        elif not java:
            failures.append(f"{line}: printed nothing at either")
        elif "Exception" in "".join(java) and not any(word in line for word in EXPECTED_TO_FAIL):
            failures.append(f"{line}: fails at both: {java}")
    assert not failures, "\n".join(failures)


SORTED: Final = re.compile(
    r"topicList|clusterList|getNamesrvConfig|getBrokerConfig|consumerProgress|statsAll"
)  # hash tables of the client
VOLATILE: Final = re.compile(
    r"sendMessage|checkMsgSendRT|topicStatus|brokerStatus|clusterList|haStatus|getBrokerConfig|updateStaticTopic"
    r"|consumerProgress|statsAll|resetOffsetByTime"
)
EXPECTED_TO_FAIL: Final = ("nobody", "absent", "/x", "get -t t1", "-t t2", "resetOffset", "consumerProgress -g")


def _only(one: list[str], other: list[str]) -> list[str]:
    """The lines that the other has not, or all if it is their order that differs."""
    return [line for line in one if line not in other] or one


def _shape(line: str) -> str:
    """A line of numbers that the broker measures: what remains are its words."""
    return re.sub(r"-?\d+", "N", line)


@pytest.mark.program(
    "Java broker and clients", "5.5.0", "a Java and a Routebook NameServer together: equal by `routebook diff`"
)
def test_a_mixed_set_agrees(mixed: Mixed) -> None:
    def agrees() -> bool:
        ran = routebook("diff", mixed.java.address, mixed.own.address)
        return ran.code == 0

    wait_until(agrees, "diff finds nothing")
