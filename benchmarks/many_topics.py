"""300 brokers × 10,000 topics on one NameServer: does it fit, does it answer? Java's route cache does not survive it.

    python -m benchmarks.many_topics [--brokers 300] [--topics 10000] [--limit-mib 2048]

Starts `routebook serve`, registers every broker over a connection of its own, looks topics up in both profiles,
registers all of them again unchanged, drops half of the brokers, and prints what each step took and what the server's
memory is.
Exits 1 if the server ever held more than the limit.
"""

import argparse
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path

from routebook.wire.codec import encode
from routebook.wire.command import Command
from routebook.wire.peer import Peer


class Connection:
    """A blocking connection that asks one thing at a time."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._peer = Peer()
        self._opaques = count(1)

    def ask(self, code: int, ext: dict[str, str | None] | None = None, body: bytes | None = None) -> Command:
        self._socket.sendall(encode(Command(code=code, opaque=next(self._opaques), ext=ext, body=body)))
        while (answer := self._peer.next_command()) is None:
            data = self._socket.recv(1 << 20)
            if not data:
                raise ConnectionError("the server closed the connection")
            self._peer.feed(data)
        return answer

    def close(self) -> None:
        self._socket.close()


def register_body(topics: int) -> bytes:
    table = {
        f"topic-{n:05d}": {
            "attributes": {"+message.type": "NORMAL"},
            "order": False,
            "perm": 6,
            "readQueueNums": 8,
            "topicFilterType": "SINGLE_TAG",
            "topicName": f"topic-{n:05d}",
            "topicSysFlag": 0,
            "writeQueueNums": 8,
        }
        for n in range(topics)
    }
    version = {"counter": 1, "stateVersion": 0, "timestamp": 1_700_000_000_000}
    wrapper = {
        "dataVersion": version,
        "mappingDataVersion": version,
        "topicConfigTable": table,
        "topicQueueMappingDetailMap": {},
        "topicQueueMappingInfoMap": {},
    }
    return json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}, separators=(",", ":")).encode()


def register(connection: Connection, broker: int, body: bytes) -> None:
    ext: dict[str, str | None] = {
        "clusterName": f"cluster-{broker % 4}",
        "brokerName": f"broker-{broker:04d}",
        "brokerAddr": f"10.0.{broker // 250}.{broker % 250}:10911",
        "haServerAddr": f"10.0.{broker // 250}.{broker % 250}:10912",
        "brokerId": "0",
        "compressed": "false",
        "enableActingMaster": "false",
        "bodyCrc32": "0",
    }
    answer = connection.ask(103, ext, body)
    if answer.code != 0:
        raise RuntimeError(f"broker {broker}: {answer.code} {answer.remark}")


class Server:
    """A `routebook serve` of its own, and what its memory is."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="routebook-bench-")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "routebook",
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--http",
                "off",
                "--home",
                self._home.name,
            ],
            stdout=subprocess.PIPE,
            stderr=(Path(self._home.name) / "log").open("w"),
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("listening on ") and "(nameserver)" in line:
                self.port = int(line.split()[2].rpartition(":")[2])
                break

    def memory_mib(self, what: str) -> float:
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(what + ":"):
                return int(line.split()[1]) / 1024
        raise LookupError(what)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=60)
        self._home.cleanup()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--brokers", type=int, default=300)
    options.add_argument("--topics", type=int, default=10_000)
    options.add_argument("--limit-mib", type=float, default=2048)
    chosen = options.parse_args()
    body = register_body(chosen.topics)
    server = Server()
    try:
        peak = run(server, chosen.brokers, chosen.topics, body)
    finally:
        server.stop()
    print(f"peak {peak:.0f} MiB of {chosen.limit_mib:.0f} allowed")
    return 0 if peak <= chosen.limit_mib else 1


def run(server: Server, brokers: int, topics: int, body: bytes) -> float:
    connections = [Connection(server.port) for _ in range(brokers)]
    client = Connection(server.port)
    report("idle", server, 0, 1)
    for round_name in ("first registration", "same again"):
        begun = time.perf_counter()
        for broker, connection in enumerate(connections):
            register(connection, broker, body)
        report(f"{round_name} of {topics} topics, each", server, time.perf_counter() - begun, brokers)
    chooser = random.Random(1)
    for version, profile in ((513, "standard"), (317, "plain")):
        begun = time.perf_counter()
        for _ in range(2000):
            topic = f"topic-{chooser.randrange(topics):05d}"
            answer = look_up(client, topic, version)
            assert answer.body is not None
            assert answer.body.count(b'"readQueueNums"') == brokers
        report(f"look-up of {brokers}-broker routes, {profile}, each", server, time.perf_counter() - begun, 2000)
    begun = time.perf_counter()
    for connection in connections[: brokers // 2]:
        connection.close()
    left = brokers - brokers // 2
    while (look_up(client, "topic-00000", 513).body or b"").count(b'"readQueueNums"') != left:
        time.sleep(0.05)
    report(f"{brokers // 2} brokers lost", server, time.perf_counter() - begun, 1)
    return server.memory_mib("VmHWM")


def look_up(client: Connection, topic: str, version: int) -> Command:
    command = Command(code=105, opaque=1, version=version, ext={"topic": topic})
    client._socket.sendall(encode(command))
    while (answer := client._peer.next_command()) is None:
        client._peer.feed(client._socket.recv(1 << 20))
    return answer


def report(step: str, server: Server, seconds: float, times: int) -> None:
    print(f"{step:<50} {seconds / times * 1000:9.3f} ms   {server.memory_mib('VmRSS'):7.0f} MiB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
