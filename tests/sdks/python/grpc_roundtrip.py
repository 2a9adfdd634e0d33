"""A round trip over gRPC through a proxy: grpc_roundtrip.py PROXY TOPIC GROUP COUNT. Has its own environment."""

import os
import sys
import threading
import time

from rocketmq import ClientConfiguration, Credentials, FilterExpression, Message, Producer, SimpleConsumer

proxy, topic, group, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
configuration = ClientConfiguration(proxy, Credentials())
seen: set[bytes] = set()
problems: list[str] = []
started, everything = threading.Event(), threading.Event()

consumer = SimpleConsumer(configuration, group, {topic: FilterExpression()}, 5)
consumer.startup()


def receive() -> None:
    """A new group starts with the messages after its first receive."""
    while not everything.is_set():
        try:
            messages = consumer.receive(16, 15)
        except Exception as problem:  # the first can precede the settings of the proxy
            problems.append(str(problem))
            time.sleep(0.5)
            continue
        for message in messages or ():
            started.set()
            if message.body.startswith(b"message-"):
                seen.add(bytes(message.body))
            consumer.ack(message)
        if len(seen) >= count:
            everything.set()


def send(text: str) -> None:
    message = Message()
    message.topic = topic
    message.body = text.encode()
    producer.send(message)


threading.Thread(target=receive, daemon=True).start()
producer = Producer(configuration, (topic,))
producer.startup()
deadline = time.monotonic() + 60
while not started.is_set() and time.monotonic() < deadline:
    send("is anybody there")
    started.wait(0.5)
for number in range(count):
    send(f"message-{number}")
everything.wait(max(0.0, deadline - time.monotonic()))
print(*sorted(set(problems)), file=sys.stderr)
print(f"sent {count} received {len(seen)}", flush=True)
os._exit(0)
