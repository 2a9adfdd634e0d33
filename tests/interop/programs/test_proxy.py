"""The gRPC proxy in cluster mode and a gRPC client through it."""

import json
from pathlib import Path

import pytest

from tests.interop.programs.conftest import Pair
from tests.interop.programs.nameserver_probe import wait_until
from tests.support.free_ports import free_port
from tests.support.java import BROKER_FLAGS, JavaBroker, JavaProcess
from tests.support.programs import PROXY, SDKS, mqadmin, python_with, run

pytestmark = [pytest.mark.java, pytest.mark.slow]

COUNT = 20


@pytest.mark.program("Proxy with the gRPC Python client", "5.5.0 and 5.1.2", "cluster mode: send and receive")
def test_a_grpc_client_through_the_proxy(pair: Pair, broker: JavaBroker, tmp_path: Path) -> None:
    commands = [
        f"updateTopic -b 127.0.0.1:{broker.port} -t grpc -r 4 -w 4 -a +message.type=NORMAL",
        f"updateSubGroup -b 127.0.0.1:{broker.port} -g grpc-group",
    ]
    printed = mqadmin(*commands, home=tmp_path)
    assert printed.count("success") == len(commands), printed
    for server in pair:
        wait_until(lambda server=server: "grpc" in server.topics(), "the topic is registered")  # type: ignore[misc]
    port = free_port()
    (tmp_path / "proxy" / "conf").mkdir(parents=True)
    settings = {
        "rocketMQClusterName": "C1",
        "proxyMode": "CLUSTER",
        "namesrvAddr": pair.addresses,
        "grpcServerPort": port,
        "remotingListenPort": free_port(),
        "localServeAddr": "127.0.0.1",
    }
    (tmp_path / "proxy" / "conf" / "rmq-proxy.json").write_text(json.dumps(settings))
    proxy = JavaProcess(
        "org.apache.rocketmq.proxy.ProxyStartup",
        home=tmp_path / "proxy",
        properties={},
        flags=BROKER_FLAGS,
        project=PROXY,
        arguments=("-pm", "cluster", "-n", pair.addresses),
    )
    with proxy:
        proxy.wait_for_line("rocketmq-proxy startup successfully")
        python = python_with("rocketmq-python-client==5.1.2")
        script = SDKS / "python" / "grpc_roundtrip.py"
        command = [str(python), str(script), f"127.0.0.1:{port}", "grpc", "grpc-group", str(COUNT)]
        assert run(command, home=tmp_path).splitlines()[-1] == f"sent {COUNT} received {COUNT}"
