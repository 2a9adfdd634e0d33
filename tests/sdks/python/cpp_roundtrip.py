"""A round trip with the C++ SDK through its wheel: cpp_roundtrip.py NAMESERVER TOPIC COUNT. Has its own environment."""

import os
import sys
import threading

from rocketmq.client import Message, Producer, PushConsumer

nameserver, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
seen: set[bytes] = set()
everything = threading.Event()


def receive(message: object) -> None:
    seen.add(message.body)
    if len(seen) == count:
        everything.set()


producer = Producer(f"{topic}-producers")
producer.set_namesrv_addr(nameserver)
producer.start()
sent = 0
for number in range(count):
    message = Message(topic)
    message.set_keys(f"k{number}")
    message.set_body(f"message-{number}")
    producer.send_sync(message)
    sent += 1
consumer = PushConsumer(f"{topic}-consumers")
consumer.set_namesrv_addr(nameserver)
consumer.subscribe(topic, receive)
consumer.start()
everything.wait(60)
print(f"sent {sent} received {len(seen)}", flush=True)
os._exit(0)  # its threads do not always end
