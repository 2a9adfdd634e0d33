"""Sends requests directly to a NameServer core: no sockets, and a clock that the test controls."""

import json
from itertools import count

from routebook.events import Event
from routebook.handlers import Caller, NameServer, Outcome, dispatch
from routebook.settings import Settings, from_values
from routebook.wire.command import Command, Reply


class CoreClient:
    """One NameServer core and one connection to it."""

    def __init__(self, **settings: str) -> None:
        self.now_ms = 1_700_000_000_000
        built = Settings.build([from_values(settings)])
        self.nameserver = NameServer(built, started_ms=self.now_ms)
        self.events: list[Event] = []
        self._opaques = count(1)

    def outcome(
        self,
        code: int,
        ext: dict[str, str] | None = None,
        body: bytes | None = None,
        *,
        version: int = 513,
        connection: int = 1,
    ) -> Outcome:
        fields: dict[str, str | None] | None = None if ext is None else {**ext}
        command = Command(code=code, opaque=next(self._opaques), version=version, ext=fields, body=body)
        outcome = dispatch(self.nameserver, command, Caller(connection, "127.0.0.1:1"), self.now_ms)
        self.events += outcome.events
        return outcome

    def ask(
        self,
        code: int,
        ext: dict[str, str] | None = None,
        body: bytes | None = None,
        *,
        version: int = 513,
        connection: int = 1,
    ) -> Reply:
        reply = self.outcome(code, ext, body, version=version, connection=connection).reply
        assert reply is not None
        return reply

    def register(
        self,
        *topics: str,
        broker: str = "broker-a",
        addr: str = "127.0.0.1:10911",
        broker_id: str = "0",
        connection: int = 1,
        counter: int = 1,
        **ext: str,
    ) -> Reply:
        return self.ask(
            103,
            {
                "clusterName": "DefaultCluster",
                "brokerName": broker,
                "brokerAddr": addr,
                "brokerId": broker_id,
                "haServerAddr": addr.replace("10911", "10912"),
                **ext,
            },
            register_body(*topics, counter=counter),
            connection=connection,
        )

    def route(self, topic: str) -> Reply:
        return self.ask(105, {"topic": topic})


def register_body(*topics: str, counter: int = 1, **config: object) -> bytes:
    """A RegisterBrokerBody as a 5.x broker sends it."""
    version = {"counter": counter, "stateVersion": 0, "timestamp": 1_700_000_000_000}
    table = {
        topic: {"topicName": topic, "readQueueNums": 8, "writeQueueNums": 8, "perm": 6, "topicSysFlag": 0, **config}
        for topic in topics
    }
    wrapper = {"dataVersion": version, "topicConfigTable": table, "topicQueueMappingInfoMap": {}}
    return json.dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper}).encode()


def parsed(reply: Reply) -> dict[str, object]:
    """The body of a reply, which must be standard JSON."""
    assert reply.body is not None
    value = json.loads(reply.body)
    assert isinstance(value, dict)
    return value
