"""A NameServer that remembers what a broker announced last does exactly what one does that compares all of it."""

import json
import random

import pytest

from routebook.wire import topic_runs
from routebook.wire.known_topics import KnownTopics
from tests.support.core_client import CoreClient
from tests.support.route_tables import check_consistency, dump

TOPICS = [f"T{number}" for number in range(6)]


@pytest.mark.parametrize("seed", range(12))
def test_remembering_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_runs, "_LENGTH", 1 + seed % 3)
    chance = random.Random(seed)
    settings = {"deleteTopicWithBrokerRegistration": "true" if seed % 4 == 3 else "false"}
    remembers, compares = CoreClient(**settings), CoreClient(**settings)
    remembered = 0
    for step in range(400):
        ask = _step(chance, step)
        compares.nameserver.known_topics = KnownTopics()  # so that every topic is another object
        for group in compares.nameserver.routes.group_table.values():
            group.announced = None
        answers = [asker.outcome(*ask) for asker in (remembers, compares)]
        assert answers[0] == answers[1], ask
        assert remembers.nameserver.routes.revision == compares.nameserver.routes.revision
        assert dump(remembers.nameserver.routes) == dump(compares.nameserver.routes), ask
        check_consistency(remembers.nameserver.routes)
        groups = remembers.nameserver.routes.group_table.values()
        remembered += sum(group.announced is not None for group in groups)
    assert remembered > 100


def _step(chance: random.Random, step: int) -> tuple[int, dict[str, str], bytes | None]:
    broker = chance.choice("ab")
    member = chance.choice([0, 0, 0, 1])
    ext = {
        "clusterName": "c",
        "brokerName": broker,
        "brokerAddr": f"10.0.0.{ord(broker)}:{10911 + member}",
        "brokerId": str(member),
        "haServerAddr": "h",
    }
    chosen = chance.random()
    if chosen < 0.75:
        if chance.random() < 0.3:
            ext["enableActingMaster"] = "true"
        return 103, ext, _body(chance, counter=step if chance.random() < 0.7 else 1)
    if chosen < 0.82:
        return 104, ext, None
    if chosen < 0.88:
        return 216, {"topic": chance.choice(TOPICS)}, None
    return chance.choice([205, 327]), {"brokerName": broker}, None


def _body(chance: random.Random, *, counter: int) -> bytes:
    table = {
        topic: {"attributes": {}, "perm": chance.choice([6, 6, 6, 4]), "topicName": topic, "writeQueueNums": 8}
        for topic in (TOPICS if chance.random() < 0.6 else chance.sample(TOPICS, chance.randrange(1, 6)))
    }
    version = {"counter": counter, "stateVersion": 0, "timestamp": 1}
    wrapper = {"dataVersion": version, "topicConfigTable": table, "topicQueueMappingInfoMap": {}}
    return json.dumps({"topicConfigSerializeWrapper": wrapper}, separators=(",", ":")).encode()
