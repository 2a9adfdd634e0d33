"""The fast path answers as the normal path does, byte for byte, and counts the same, whatever changes in between."""

import random
from itertools import count

import pytest

from routebook.codes import FLAG_ONEWAY
from routebook.events import LookupMinute
from routebook.handlers import Caller, dispatch
from routebook.handlers.fast_lookup import FastLookup
from routebook.wire.codec import decode, encode, encode_reply
from routebook.wire.command import Command, SerializeType
from tests.support.core_client import CoreClient

TOPICS = ["A", "B", "C", "%RETRY%g", "ä", 'quo"te', "long-" + "x" * 300]


class Twins:
    """Two NameServers with the same requests; one of them has the fast path."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        settings = {"routebook.routeCacheBytes": chance.choice(["3000", "100000"])}
        self.normal, self.fast = CoreClient(**settings), CoreClient(**settings)
        self.lookups = FastLookup(self.fast.nameserver, max_entries=chance.choice([40, 200]))
        self.answered = 0

    def change(self) -> None:
        chance = self._chance
        broker = chance.choice("abc")
        topics = chance.sample(TOPICS, chance.randint(2, 5))
        port = {"a": 10911, "b": 20911, "c": 30911}[broker]
        what, value = chance.randrange(7), chance.choice(["true", "false"])
        for side in (self.normal, self.fast):
            side.now_ms += 15_000  # not ready for 45 s if it waits for service
            if what <= 1:
                counter = self.answered + 2
                side.register(*topics, broker=f"broker-{broker}", addr=f"127.0.0.1:{port}", counter=counter)
            elif what == 2:
                fields = {"brokerName": f"broker-{broker}", "brokerAddr": f"127.0.0.1:{port}", "brokerId": "0"}
                side.ask(104, {**fields, "clusterName": "DefaultCluster"})
            elif what == 3:
                side.ask(216, {"topic": topics[0]})
            elif what == 4:
                side.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": topics[0], "value": str(self.answered)})
            elif what == 5:
                setting = "orderMessageEnable" if self.answered % 5 else "needWaitForService"
                side.ask(318, None, f"{setting}={value}".encode())
            else:
                side.ask(205, {"brokerName": f"broker-{broker}"})

    def look_up(self) -> None:
        chance = self._chance
        ext: dict[str, str | None] = {"topic": chance.choice(TOPICS)}
        if chance.random() < 0.1:
            ext |= {"__ZONE_MODE": "true", "__ZONE_NAME": "z"}
        command = Command(
            code=105,
            opaque=chance.choice([1, 55, 1234, 2**31 - 1, -7, chance.randrange(10**6)]),
            flag=chance.choice([0, 0, 0, FLAG_ONEWAY]),
            version=chance.choice([317, 513]),
            language=chance.choice(["JAVA", "GO"]),
            ext=ext,
        )
        frame = encode(command, chance.choice(list(SerializeType)))
        caller = Caller(7, chance.choice(["10.0.0.9:5000", "10.0.0.8:5000"]))
        normal = dispatch(self.normal.nameserver, decode(frame[4:], count()), caller, self.normal.now_ms).reply
        assert normal is not None
        one = chance.random() < 0.5
        found = self.lookups.answer_at(caller, frame, 0, None, None, len(frame) if one else 0)
        if found is not None:
            self.answered += 1
            assert found[0] == len(frame)
            assert b"".join(found[1]) == encode_reply(command.opaque, normal)
            return
        reply = dispatch(self.fast.nameserver, decode(frame[4:], count()), caller, self.fast.now_ms).reply
        assert reply == normal
        if reply.code in (0, 17):
            self.lookups.learn(decode(frame[4:], count()), reply, frame, 0)

    def counts(self) -> None:
        normal, fast = (
            sorted(map(str, (row for row in side.nameserver.meter.take(60_000) if isinstance(row, LookupMinute))))
            for side in (self.normal, self.fast)
        )
        assert fast == normal


@pytest.mark.parametrize("seed", range(12))
def test_both_paths_give_the_same_answers_and_counts(seed: int) -> None:
    chance = random.Random(seed)
    twins = Twins(chance)
    for _ in range(600):
        what = chance.random()
        if what < 0.1:
            twins.change()
        elif what < 0.12:
            twins.counts()
        else:
            twins.look_up()
    twins.counts()
    assert twins.answered > 20
