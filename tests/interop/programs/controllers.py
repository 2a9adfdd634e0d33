"""A Java controller, and brokers in controller mode."""

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

from tests.support.java import NAMESERVER_FLAGS, JavaBroker, JavaProcess, java_broker


@contextlib.contextmanager
def java_controller(home: Path) -> Iterator[str]:
    """A controller with a quorum of one; yields its address."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{held.getsockname()[1]}"
    settings = {
        "controllerDLegerGroup": "g1",
        "controllerDLegerPeers": f"n0-{address}",
        "controllerDLegerSelfId": "n0",
        "controllerStorePath": home / "store",
        "mappedFileSize": 1_048_576,
        "enableElectUncleanMaster": "true",
    }
    main = "org.apache.rocketmq.controller.ControllerStartup"
    with JavaProcess(main, home=home, properties=settings, flags=NAMESERVER_FLAGS) as process:
        process.wait_for_line("The Controller Server boot success")
        yield address


def controlled_broker(
    home: Path, *, nameserver: str, controller: str, cluster: str = "C1"
) -> contextlib.AbstractContextManager[JavaBroker]:
    """A broker of the group `b-ctl`; the controller decides its role."""
    return java_broker(
        home,
        nameserver=nameserver,
        brokerClusterName=cluster,
        brokerName="b-ctl",
        brokerId=-1,
        enableControllerMode="true",
        controllerAddr=controller,
        storePathEpochFile=home / "epoch",
    )
