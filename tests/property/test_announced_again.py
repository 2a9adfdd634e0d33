"""A NameServer that remembers each broker's last registration behaves exactly like one that does not."""

import json
import random

import pytest

from routebook.handlers.registration_cache import RegistrationCache
from routebook.wire import topic_blocks
from tests.support.core_client import CoreClient
from tests.support.route_tables import check_consistency, dump

TOPICS = [f"T{number}" for number in range(6)]


@pytest.mark.parametrize("seed", range(12))
def test_remembering_does_not_change_results(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_blocks, "_TOPICS_PER_BLOCK", 1 + seed % 3)
    chance = random.Random(seed)
    settings = {"deleteTopicWithBrokerRegistration": "true" if seed % 4 == 3 else "false"}
    remembers, forgets = CoreClient(**settings), CoreClient(**settings)
    cache = remembers.nameserver.registrations
    remembered = 0
    for step in range(400):
        ask = _step(chance, step)
        forgets.nameserver.registrations = RegistrationCache()
        answers = [asker.outcome(*ask) for asker in (remembers, forgets)]
        assert answers[0] == answers[1], ask
        assert remembers.nameserver.routes.revision == forgets.nameserver.routes.revision
        assert dump(remembers.nameserver.routes) == dump(forgets.nameserver.routes), ask
        check_consistency(remembers.nameserver.routes)
        groups = remembers.nameserver.routes.group_table
        assert cache._tables.keys() <= groups.keys(), "nothing is remembered of brokers that left"
        assert cache._requests.keys() <= remembers.nameserver.routes.lease_table.keys()
        remembered += len(cache._tables)
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
