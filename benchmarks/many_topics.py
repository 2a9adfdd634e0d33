"""Registers 300 brokers × 10,000 topics on one NameServer, measures time and memory, and fails above a memory limit.

    python -m benchmarks.many_topics [--brokers 300] [--topics 10000] [--limit-mib 2048]

Starts `routebook serve`, registers every broker over its own connection, looks up topics in both JSON profiles,
registers all brokers again unchanged, and disconnects half of them. Prints time and memory of each step; exits 1 if the
peak memory is above the limit. Java's route cache runs out of heap at this size.
"""

import argparse
import random
import sys
import time

from benchmarks.suite.peers import Connection, Server, routebook
from benchmarks.suite.plans import register_body, registration_fields, topic_names
from routebook.wire.command import Command


def register(connection: Connection, broker: int, body: bytes) -> None:
    answer = connection.ask(103, registration_fields(broker), body)
    if answer.code != 0:
        raise RuntimeError(f"broker {broker}: {answer.code} {answer.remark}")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--brokers", type=int, default=300)
    options.add_argument("--topics", type=int, default=10_000)
    options.add_argument("--limit-mib", type=float, default=2048)
    chosen = options.parse_args()
    body = register_body(topic_names(chosen.topics))
    with routebook(http="off") as server:
        peak = run(server, chosen.brokers, chosen.topics, body)
    print(f"peak memory {peak:.0f} MiB, limit {chosen.limit_mib:.0f} MiB")
    return 0 if peak <= chosen.limit_mib else 1


def run(server: Server, brokers: int, topics: int, body: bytes) -> float:
    connections = [Connection(server.port) for _ in range(brokers)]
    client = Connection(server.port)
    report("idle", server, 0, 1)
    for round_name in ("first registration", "unchanged registration"):
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
    report(f"{brokers // 2} brokers disconnected", server, time.perf_counter() - begun, 1)
    return server.memory_mib("VmHWM")


def look_up(client: Connection, topic: str, version: int) -> Command:
    return client.ask(105, {"topic": topic}, version=version)


def report(step: str, server: Server, seconds: float, times: int) -> None:
    print(f"{step:<50} {seconds / times * 1000:9.3f} ms   {server.memory_mib('VmRSS'):7.0f} MiB", flush=True)


if __name__ == "__main__":
    sys.exit(main())
