"""Real brokers in every configuration that affects their requests to a NameServer, registered at two Routebooks."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.interop.programs.conftest import Pair
from tests.interop.programs.nameserver_probe import wait_until
from tests.support.java import PROJECT, JavaBroker, java_broker
from tests.support.programs import OLD_BROKER

pytestmark = [pytest.mark.java, pytest.mark.slow]

SYSTEM_TOPICS = {"SELF_TEST_TOPIC", "TBW102", "BenchmarkTest", "OFFSET_MOVED_EVENT"}


@contextmanager
def broker_at(
    pair: Pair,
    home: Path,
    name: str,
    *,
    ids: set[int],
    flags: tuple[str, ...] = (),
    project: Path = PROJECT,
    **settings: object,
) -> Iterator[JavaBroker]:
    """A broker that is registered at both NameServers, with these members in its group."""
    settings["brokerName"] = name
    broker = java_broker(home, nameserver=pair.addresses, flags=flags, project=project, **settings)
    with broker as process:
        for server in pair:
            server.wait_for_members(name, ids)
        yield process


@pytest.mark.program("Java broker", "5.5.0", "default settings")
def test_default_settings(pair: Pair, broker: JavaBroker) -> None:
    for server in pair:
        assert server.members("b-a") == {0: f"127.0.0.1:{broker.port}"}
        assert server.topics() >= SYSTEM_TOPICS


@pytest.mark.program("Java broker", "5.5.0", "master and slave; the slave learns its master from the NameServer")
def test_a_slave_finds_its_master(pair: Pair, tmp_path: Path) -> None:
    with (
        broker_at(pair, tmp_path / "m", "b-slave", ids={0}) as master,
        broker_at(pair, tmp_path / "s", "b-slave", ids={0, 1}, brokerId=1, brokerRole="SLAVE") as slave,
    ):
        wanted = {0: f"127.0.0.1:{master.port}", 1: f"127.0.0.1:{slave.port}"}
        for server in pair:
            assert server.members("b-slave") == wanted
            assert server.route_members("TBW102", "b-slave") == wanted


@pytest.mark.program("Java broker", "5.5.0", "enableSlaveActingMaster: the slave stands in when its master dies")
def test_a_slave_acts_as_master(pair: Pair, tmp_path: Path) -> None:
    for server in pair:
        assert server.ask_text(318, "supportActingMaster=true").code == 0
    try:
        with (
            broker_at(pair, tmp_path / "m", "b-act", ids={0}, enableSlaveActingMaster="true") as master,
            broker_at(
                pair,
                tmp_path / "s",
                "b-act",
                ids={0, 1},
                brokerId=1,
                brokerRole="SLAVE",
                enableSlaveActingMaster="true",
            ) as slave,
        ):
            master.process.kill()
            acting = {0: f"127.0.0.1:{slave.port}"}
            for server in pair:
                wait_until(
                    lambda server=server: server.route_members("TBW102", "b-act") == acting,  # type: ignore[misc]
                    f"{server.address}: the slave stands in for its master",
                )
    finally:
        for server in pair:
            server.ask_text(318, "supportActingMaster=false")


@pytest.mark.program("Java broker", "5.5.0", "forceRegister=false: asks with 322 before it registers")
def test_without_forced_registration(pair: Pair, tmp_path: Path) -> None:
    with broker_at(pair, tmp_path, "b-lazy", ids={0}, forceRegister="false"):
        for server in pair:
            assert server.route_members("b-lazy", "b-lazy")


@pytest.mark.program("Java broker", "5.5.0", "enableSplitRegistration: topics in several registrations")
def test_split_registration(pair: Pair, tmp_path: Path) -> None:
    with broker_at(pair, tmp_path, "b-split", ids={0}, enableSplitRegistration="true", splitRegistrationSize=3):
        for server in pair:
            wait_until(
                lambda server=server: all(server.route_members(topic, "b-split") for topic in SYSTEM_TOPICS),  # type: ignore[misc]
                f"{server.address}: all parts of the registration are there",
            )


@pytest.mark.program("Java broker", "5.5.0", "compressedRegister (which the Java NameServer refuses)")
def test_compressed_registration(pair: Pair, tmp_path: Path) -> None:
    with broker_at(pair, tmp_path, "b-small", ids={0}, compressedRegister="true"):
        for server in pair:
            assert all(server.route_members(topic, "b-small") for topic in SYSTEM_TOPICS)


@pytest.mark.program("Java broker", "5.5.0", "enableSingleTopicRegister: a new topic by 217")
def test_single_topic_registration(pair: Pair, tmp_path: Path) -> None:
    with broker_at(pair, tmp_path, "b-single", ids={0}, enableSingleTopicRegister="true"):
        for server in pair:
            assert server.route_members("TBW102", "b-single")


@pytest.mark.program("Java broker", "5.5.0", "binary headers (rocketmq.serialize.type=ROCKETMQ)")
def test_binary_headers(pair: Pair, tmp_path: Path) -> None:
    flags = ("-Drocketmq.serialize.type=ROCKETMQ",)
    with ExitStack() as stack:
        stack.enter_context(broker_at(pair, tmp_path, "b-binary", ids={0}, flags=flags))
        for server in pair:
            assert server.route_members("TBW102", "b-binary")


@pytest.mark.program("Java broker", "5.5.0", "TLS to the NameServer")
def test_tls_to_the_nameserver(pair: Pair, tmp_path: Path) -> None:
    with broker_at(pair, tmp_path, "b-tls", ids={0}, flags=("-Dtls.enable=true",)):
        for server in pair:
            assert server.route_members("TBW102", "b-tls")


@pytest.mark.program("Java broker", "5.5.0", "a zone (rocketmq.zone): shown in routes, and kept to by zone mode")
def test_zone_in_routes(pair: Pair, tmp_path: Path) -> None:
    with broker_at(pair, tmp_path, "b-zone", ids={0}, flags=("-Drocketmq.zone=z1",)):
        for server in pair:
            (data,) = [data for data in server.route("b-zone")["brokerDatas"] if data["brokerName"] == "b-zone"]
            assert data["zoneName"] == "z1"


@pytest.mark.program("Java broker", "4.9.7", "default settings")
def test_a_4_9_broker(pair: Pair, tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.mkdir()
    quiet = '<configuration><root level="OFF"/></configuration>'
    for name in ("logback_broker.xml", "logback_tools.xml"):
        (conf / name).write_text(quiet)
    with broker_at(pair, tmp_path, "b-old", ids={0}, project=OLD_BROKER) as process:
        for server in pair:
            assert server.members("b-old") == {0: f"127.0.0.1:{process.port}"}
            assert server.route_members("TBW102", "b-old")
