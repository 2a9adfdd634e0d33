"""Controllers, Java's and Routebook's, brokers in controller mode, and a probe that asks a Controller."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.support.compare import parse_body
from tests.support.free_ports import free_port
from tests.support.java import NAMESERVER_FLAGS, PROJECT, JavaBroker, JavaProcess, java_broker
from tests.support.process import Process
from tests.support.remoting import eventually
from tests.support.remoting_frames import Link, Reply, Request

BROKER_SET: Final = "b-ctl"
WAIT_S: Final = 180.0
_SEND_MESSAGE_V2: Final = 310


def free_address() -> str:
    """An address whose port is free now."""
    return f"127.0.0.1:{free_port()}"


def controller_settings(address: str, home: Path, **settings: object) -> dict[str, object]:
    """The settings of a single node, as Java and Routebook read them."""
    return {
        "controllerDLegerGroup": "g1",
        "controllerDLegerPeers": f"n0-{address}",
        "controllerDLegerSelfId": "n0",
        "controllerStorePath": home / "store",
        "mappedFileSize": 1_048_576,
        **settings,
    }


@contextlib.contextmanager
def java_controller(home: Path, *, address: str | None = None, **settings: object) -> Iterator[str]:
    """A Java controller with a quorum of one; yields its address."""
    address = address or free_address()
    with java_controller_process(home, controller_settings(address, home, **settings)):
        ControllerProbe(address).wait_until_leading()
        yield address


@contextlib.contextmanager
def java_controller_process(home: Path, settings: dict[str, object]) -> Iterator[JavaProcess]:
    """A Java controller with these settings, once it serves."""
    main = "org.apache.rocketmq.controller.ControllerStartup"
    with JavaProcess(main, home=home, properties=settings, flags=NAMESERVER_FLAGS) as process:
        process.wait_for_line("The Controller Server boot success")
        yield process


@contextlib.contextmanager
def java_nameserver_with_controller(home: Path, **settings: object) -> Iterator[tuple[str, str]]:
    """A Java NameServer with a Controller; yields their addresses."""
    nameserver, controller = free_address(), free_address()
    given = {
        "bindAddress": "127.0.0.1",
        "listenPort": nameserver.rpartition(":")[2],
        "enableControllerInNamesrv": "true",
        **controller_settings(controller, home, **settings),
    }
    main = "org.apache.rocketmq.namesrv.NamesrvStartup"
    with JavaProcess(main, home=home, properties=given, flags=NAMESERVER_FLAGS) as process:
        process.wait_for_line("The ControllerManager boot success")
        ControllerProbe(controller).wait_until_leading()
        yield nameserver, controller


@contextlib.contextmanager
def routebook_process(home: Path, command: str, settings: dict[str, object], *arguments: str) -> Iterator[Process]:
    """`routebook COMMAND -c FILE`, once its Controller serves."""
    home.mkdir(parents=True, exist_ok=True)
    file = home / "node.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    process = Process(command, "-c", str(file), "--home", str(home / "home"), *arguments)
    try:
        process.wait_for_out(r"listening on \S+ \(controller\)", timeout_s=120)
        yield process
    finally:
        process.kill()


@contextlib.contextmanager
def routebook_controller(home: Path, *, address: str | None = None, **settings: object) -> Iterator[str]:
    """A Routebook Controller in its own process; yields its address."""
    address = address or free_address()
    with routebook_process(home, "controller", controller_settings(address, home, **settings)):
        yield address


@contextlib.contextmanager
def routebook_nameserver_with_controller(home: Path, **settings: object) -> Iterator[tuple[str, str]]:
    """A Routebook NameServer with a Controller; yields their addresses."""
    controller = free_address()
    given = {"enableControllerInNamesrv": "true", **controller_settings(controller, home, **settings)}
    with routebook_process(home, "serve", given, "--listen", "127.0.0.1:0", "--http", "off") as process:
        process.wait_until_listening()
        yield f"{process.host}:{process.port}", controller


def controlled_broker(
    home: Path, *, nameserver: str, controller: str, cluster: str = "C1", **settings: object
) -> contextlib.AbstractContextManager[JavaBroker]:
    """A broker of the set `b-ctl`; the controller decides its role."""
    return java_broker(
        home,
        nameserver=nameserver,
        flags=(),
        project=PROJECT,
        **{"brokerName": BROKER_SET, **settings},
        brokerClusterName=cluster,
        brokerId=-1,
        enableControllerMode="true",
        controllerAddr=controller,
        storePathEpochFile=home / "epoch",
    )


class SetState(NamedTuple):
    """A broker set as 1006 shows it: addresses by id."""

    master: str | None
    master_epoch: int
    in_sync: dict[int, str]
    others: dict[int, str]
    alive: frozenset[str]

    @property
    def replicas(self) -> dict[int, str]:
        return {**self.in_sync, **self.others}


class ControllerProbe:
    """Sends requests to one Controller."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.address = address
        self._host_port = host, int(port)

    def ask(self, code: int, body: bytes = b"", **ext: str) -> Reply:
        with Link(self._host_port) as link:
            return link.ask(Request(code=code, ext=ext, body=body))

    def wait_until_leading(self) -> None:
        """Java is ready before its election is over."""
        eventually(lambda: self.ask(1005).ext["isLeader"] == "true", f"{self.address} leads", within_s=WAIT_S)

    def state(self, name: str = BROKER_SET) -> SetState | None:
        """The set; None while it is unknown or no Controller answers."""
        try:
            reply = self.ask(1006, b'["%s"]' % name.encode())
        except (OSError, AssertionError):
            return None
        info: dict[str, Any] | None = parse_body(reply.body)["replicasInfoTable"].get(name) if reply.body else None
        if info is None:
            return None
        both = [{row["brokerId"]: row for row in info[key]} for key in ("inSyncReplicas", "notInSyncReplicas")]
        in_sync, others = ({number: row["brokerAddress"] for number, row in rows.items()} for rows in both)
        alive = frozenset(row["brokerAddress"] for rows in both for row in rows.values() if row["alive"])
        return SetState(info.get("masterAddress"), info["masterEpoch"], in_sync, others, alive)

    def wait_in_sync(self, *addresses: str, name: str = BROKER_SET) -> float:
        """Wait until exactly these replicas are in sync and alive, with a master among them; returns the seconds."""
        began = time.monotonic()
        wanted = set(addresses)
        while True:
            state = self.state(name)
            if state and set(state.in_sync.values()) == wanted and wanted <= state.alive and state.master in wanted:
                return time.monotonic() - began
            assert time.monotonic() - began < WAIT_S, f"not in sync: {sorted(wanted)}; {self.address} has {state}"
            time.sleep(0.02)


def try_write(address: str, topic: str, *, timeout_s: float = 5.0) -> bool:
    """Send one message straight to a broker: whether it acknowledged it."""
    host, _, port = address.rpartition(":")
    fields = {
        "a": "probe",
        "b": topic,
        "c": "TBW102",
        "d": "4",
        "e": "0",
        "f": "0",
        "g": str(time.time_ns() // 1_000_000),
        "h": "0",
        "i": "",
        "j": "0",
        "k": "false",
        "m": "false",
    }
    try:
        with Link((host, int(port))) as link:
            link.send(Request(code=_SEND_MESSAGE_V2, ext=fields, body=b"probe").encode())
            raw = link.receive(timeout_s=timeout_s)
    except (OSError, TimeoutError):
        return False
    return raw is not None and Reply.parse(raw).code == 0
