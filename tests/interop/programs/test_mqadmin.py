"""Every command of mqadmin, at a Java NameServer and at Routebook with the same brokers: the same output."""

import json
import re
import time
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pytest

from tests.interop.programs.mqadmin_commands import BEFORE_ELSEWHERE, COMMANDS, CONTROLLER_COMMANDS, ELSEWHERE
from tests.interop.programs.mqadmin_session import MqAdmin, comparable
from tests.interop.programs.nameserver_probe import Server, wait_until
from tests.interop.programs.table import PAGE
from tests.support.command_line import routebook
from tests.support.controllers import controlled_broker, java_controller
from tests.support.java import java_broker, java_nameserver
from tests.support.process import serving

pytestmark = [pytest.mark.java, pytest.mark.slow]

AUTH: Final = "org.apache.rocketmq.auth"
TOPICS: Final = [{"topicName": f"listed-{number}", "readQueueNums": 2, "writeQueueNums": 2} for number in (1, 2)]
GROUPS: Final = [{"groupName": f"listed-{number}"} for number in (1, 2)]
CLOSED: Final = "127.0.0.1:1"  # a closed port

# `clusterRT` is interrupted after its first round; the others look for absent things.
EXPECTED_TO_FAIL: Final = ("nobody", "absent", "/x", "get -t t1", "-t t2", "clusterRT")
SILENT: Final = ("startMonitoring",)
INDEXED_LATER: Final = ("queryMsg",)  # the broker indexes messages with a delay
INDEX_WAIT_S: Final = 10.0
TRACE_TRIES: Final = 5


def names(lines: Iterable[str]) -> set[str]:
    """The command names of command lines."""
    return {line.split()[0] for line in lines}


ASKING: Final = names(COMMANDS + CONTROLLER_COMMANDS)


class Mixed(NamedTuple):
    """One Java and one Routebook NameServer with the same broker."""

    java: Server
    own: Server
    broker: str

    @property
    def addresses(self) -> str:
        return f"{self.java.address};{self.own.address}"

    def varying(self) -> Iterator[tuple[str, str]]:
        """Values that vary between runs, and placeholders for them."""
        for server in (self.java, self.own):
            yield server.address, "NAMESERVER"
            yield str(server.host_port[1]), "PORT"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    settings = {"orderMessageEnable": "true"}
    home = tmp_path_factory.mktemp("broker")
    with (
        java_nameserver(tmp_path_factory.mktemp("java"), **settings) as java,
        serving(tmp_path_factory.mktemp("routebook"), settings=settings) as own,
    ):
        servers = Server(java), Server(own.address)
        addresses = ";".join(server.address for server in servers)
        with java_broker(
            home,
            nameserver=addresses,
            traceTopicEnable="true",
            authConfigPath=home / "auth",
            authenticationMetadataProvider=f"{AUTH}.authentication.provider.LocalAuthenticationMetadataProvider",
            authorizationMetadataProvider=f"{AUTH}.authorization.provider.LocalAuthorizationMetadataProvider",
        ) as broker:
            for server in servers:
                server.wait_for_members("b-a", {0})
            yield Mixed(*servers, f"127.0.0.1:{broker.port}")


@pytest.fixture(scope="module")
def controller(mixed: Mixed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A controller with a broker of the cluster C2, registered at both."""
    home = tmp_path_factory.mktemp("controlled")
    with (
        java_controller(tmp_path_factory.mktemp("controller"), enableElectUncleanMaster="true") as address,
        controlled_broker(home, nameserver=mixed.addresses, controller=address, cluster="C2"),
    ):
        for server in (mixed.java, mixed.own):
            server.wait_for_members("b-ctl", {0})
        yield address


@pytest.fixture(scope="module")
def mqadmins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, MqAdmin]]:
    """One per NameServer: `sendMessage` works only once in a JVM."""
    homes = {which: tmp_path_factory.mktemp(which) for which in ("java", "here")}
    for home in homes.values():
        (home / "topics.json").write_text(json.dumps(TOPICS))
        (home / "groups.json").write_text(json.dumps(GROUPS))
    with MqAdmin(homes["java"]) as java, MqAdmin(homes["here"]) as here:
        yield {"java": java, "here": here}


@pytest.fixture(scope="module")
def traced(mixed: Mixed, mqadmins: dict[str, MqAdmin], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The id of a message with a stored trace. A client can end before it has sent its trace: repeat."""
    asking, nameserver = mqadmins["java"], f"-n {mixed.java.address}"
    asking.run(f"updateTopic -c C1 -t traced -r 1 -w 1 {nameserver}")
    for _ in range(TRACE_TRIES):
        with MqAdmin(tmp_path_factory.mktemp("traced")) as sending:
            printed = sending.run(f"sendMessage -t traced -p hello -b b-a -i 0 -m true {nameserver}")
        sent = re.search(r"SEND_OK\s+([0-9A-F]+)", printed)
        assert sent, printed
        if "no message" not in answer(asking, f"queryMsgTraceById -i {sent[1]} {nameserver}"):
            return sent[1]
    raise AssertionError(f"{TRACE_TRIES} messages were sent, and the broker has a trace of none")


@pytest.mark.program(
    "mqadmin", "5.5.0", f"all {len(ASKING)} commands that ask a NameServer: the same output as at a Java NameServer"
)
def test_every_command_has_the_same_output(
    mixed: Mixed, controller: str, traced: str, mqadmins: dict[str, MqAdmin]
) -> None:
    failures = list(differences(COMMANDS, mixed, mqadmins, controller=controller, traced=traced))
    failures += differences(CONTROLLER_COMMANDS, mixed, mqadmins, controller=controller)
    assert not failures, "\n".join(failures)


@pytest.mark.program("mqadmin", "5.5.0", f"its other {len(ELSEWHERE)} commands: none of them asks a NameServer")
def test_the_other_commands_need_no_nameserver(mixed: Mixed, controller: str, mqadmins: dict[str, MqAdmin]) -> None:
    mqadmin = mqadmins["here"]
    assert "connect to" in mqadmin.run(f"topicRoute -t t1 -n {CLOSED}"), "a command reports the closed port"
    for line in BEFORE_ELSEWHERE:
        mqadmin.run(line.format(broker=mixed.broker))
    for line, asks, answered in ELSEWHERE:
        command = line.format(broker=mixed.broker, controller=controller, files=mqadmin.home)
        output = mqadmin.run(f"{command} -n {CLOSED}")
        assert "connect to" not in output, f"{command} asks {asks} only: {output}"
        assert answered in output, f"{command} asks {asks}: {output}"


@pytest.mark.program("mqadmin", "5.5.0", "no command beside these")
def test_every_command_is_covered(mqadmins: dict[str, MqAdmin]) -> None:
    offered = set(re.findall(r"^   (\w+) ", mqadmins["java"].run(""), re.MULTILINE))
    elsewhere = names(other.line for other in ELSEWHERE)
    assert offered == ASKING | elsewhere
    page = PAGE.read_text()
    assert [name for name in elsewhere if f"`{name}`" not in page] == [], f"{PAGE.name} names them"


@pytest.mark.program(
    "Java broker and clients", "5.5.0", "a Java and a Routebook NameServer together: equal by `routebook diff`"
)
def test_both_nameservers_agree(mixed: Mixed) -> None:
    def agrees() -> bool:
        ran = routebook("diff", mixed.java.address, mixed.own.address)
        return ran.code == 0

    wait_until(agrees, "diff finds nothing")


def differences(commands: Iterable[str], mixed: Mixed, mqadmins: dict[str, MqAdmin], **known: str) -> Iterator[str]:
    """Differences between the outputs at both NameServers; `known` holds placeholders of the command lines."""
    ids: dict[str, str] = {}
    for command in commands:
        output = {}
        for which, server in (("java", mixed.java), ("here", mixed.own)):
            mqadmin = mqadmins[which]
            line = command.format(which=which, broker=mixed.broker, files=mqadmin.home, **known, **ids)
            printed = answer(mqadmin, line if "-b 127" in line else f"{line} -n {server.address}")
            for name, found in re.findall(r"(SEND_OK|OffsetID:)\s+([0-9A-F]+)", printed):
                ids.setdefault("unique" if name == "SEND_OK" else "offset_id", found)
            output[which] = comparable(line, printed, [*mixed.varying(), (str(mqadmin.home), "HOME")])
        java, here = output["java"], output["here"]
        if java != here:
            yield f"{line}\n  Java: {_only(java, here)}\n  here: {_only(here, java)}"
        elif not java and not line.startswith(SILENT):
            yield f"{line}: printed nothing at either"
        elif "Exception" in "".join(java) and not any(word in line for word in EXPECTED_TO_FAIL):
            yield f"{line}: fails at both: {java}"


def answer(mqadmin: MqAdmin, line: str) -> str:
    """The output of a command; a query for a message is repeated until the message is indexed."""
    deadline = time.monotonic() + INDEX_WAIT_S
    printed = mqadmin.run(line)
    while line.startswith(INDEXED_LATER) and "no message" in printed and time.monotonic() < deadline:
        time.sleep(0.2)
        printed = mqadmin.run(line)
    return printed


def _only(one: list[str], other: list[str]) -> list[str]:
    """The lines missing in the other output, or all if only their order differs."""
    return [line for line in one if line not in other] or one
