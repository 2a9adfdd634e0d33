"""SDKs of other languages: one round trip each."""

from pathlib import Path

import pytest

from tests.interop.programs.conftest import Pair
from tests.interop.programs.nameserver_probe import wait_until
from tests.support.java import JavaBroker
from tests.support.programs import SDKS, go_program, mqadmin, node_program, python_with, run, rust_program

pytestmark = [pytest.mark.java, pytest.mark.slow]

COUNT = 20


@pytest.mark.program("Go SDK", "2.1.2", "create, list and delete a topic; producer and push consumer")
def test_go_sdk(pair: Pair, broker: JavaBroker, tmp_path: Path) -> None:
    command = [str(go_program()), pair.first.address, f"127.0.0.1:{broker.port}", "from-go", str(COUNT)]
    assert run(command, home=tmp_path).splitlines()[-1] == f"created sent {COUNT} received {COUNT} listed deleted"
    wait_until(lambda: "from-go" not in pair.first.topics(), "the topic is gone")


@pytest.mark.program("Node SDK (ali-ons)", "3.12.0", "producer and push consumer")
def test_node_sdk(pair: Pair, broker: JavaBroker, tmp_path: Path) -> None:
    create_topic(pair, broker, "from-node", tmp_path)
    command = ["node", str(node_program()), pair.first.address, "from-node", str(COUNT)]
    assert run(command, home=tmp_path).splitlines()[-1] == f"sent {COUNT} received {COUNT}"


@pytest.mark.program("C++ SDK (its Python wheel)", "0.4.4", "producer and push consumer, topic made on the way")
def test_cpp_sdk(pair: Pair, broker: JavaBroker, tmp_path: Path) -> None:
    python = python_with("rocketmq==0.4.4")
    script = SDKS / "python" / "cpp_roundtrip.py"
    command = [str(python), str(script), pair.first.address, "from-cpp", str(COUNT)]
    assert run(command, home=tmp_path).splitlines()[-1] == f"sent {COUNT} received {COUNT}"


@pytest.mark.program("Rust SDK (rocketmq-client-rust)", "1.0.0", "producer and push consumer, topic made on the way")
def test_rust_sdk(pair: Pair, broker: JavaBroker, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    program = rust_program(build=request.config.getoption("--rust-sdk"))
    if program is None:
        pytest.skip("the Rust SDK is not built here, and that takes a quarter of an hour: --rust-sdk does it")
    command = [str(program), pair.first.address, "from-rust", str(COUNT)]
    assert run(command, home=tmp_path).splitlines()[-1] == f"sent {COUNT} received {COUNT}"


def create_topic(pair: Pair, broker: JavaBroker, topic: str, home: Path) -> None:
    """Create a topic at the broker with mqadmin, and wait until both NameServers have it."""
    printed = mqadmin(f"updateTopic -b 127.0.0.1:{broker.port} -t {topic} -r 4 -w 4", home=home)
    assert "success" in printed, printed
    for server in pair:
        wait_until(lambda server=server: topic in server.topics(), f"{topic} is registered")  # type: ignore[misc]
