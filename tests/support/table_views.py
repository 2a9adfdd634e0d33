"""The route tables in one comparable form: as a NameServer answers over remoting, and as its journal replays them."""

import json
from typing import Any

from tests.support.naive_fold import NaiveFold
from tests.support.remoting import route
from tests.support.remoting_frames import Link, Request

View = dict[str, Any]


def over_remoting(client: Link) -> View:
    """All topics with their queues (206, 105) and all groups (106)."""
    names = json.loads(client.ask(Request(code=206)).body)["topicList"]
    topics = {}
    for name in names:
        reply = client.ask(route(name))
        if reply.code == 17:
            continue  # deleted since the list was made
        topics[name] = {
            queue["brokerName"]: (
                queue["perm"],
                queue["readQueueNums"],
                queue["writeQueueNums"],
                queue["topicSysFlag"],
            )
            for queue in json.loads(reply.body)["queueDatas"]
        }
    # ids have no quotes here, as in Java
    table = json.loads(_quoted(client.ask(Request(code=106)).body))["brokerAddrTable"]
    groups = {
        name: (data["cluster"], {int(broker_id): addr for broker_id, addr in data["brokerAddrs"].items()})
        for name, data in table.items()
    }
    return {"topics": topics, "groups": groups}


def from_journal(fold: NaiveFold) -> View:
    """The same from the events of a journal."""
    return {
        "topics": fold.topics,
        "groups": {
            broker: (fold.clusters[broker], {broker_id: who[1] for broker_id, who in fold.addrs(broker).items()})
            for broker in fold.flags
        },
    }


def _quoted(body: bytes) -> str:
    """Quote number keys, which fastjson writes without quotes."""
    text = body.decode()
    for broker_id in range(10):
        for before in "{,":
            text = text.replace(f'{before}{broker_id}:"', f'{before}"{broker_id}":"')
    return text
