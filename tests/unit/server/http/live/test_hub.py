"""The state that consoles receive: lost topics, read-only groups, registrations that undo a wipe."""

from routebook.events import DownReason, Event, TopicsChanged
from routebook.journal.record import FORMAT_VERSION, Record
from routebook.server.http.live.messages import summarize
from routebook.server.http.views.permissions import read_only_groups
from tests.support.asynchronous import asynchronous
from tests.support.core_client import CoreClient
from tests.support.http import Rig, get_json, rig


def record_all(some: Rig) -> list[Event]:
    """Record the events of the requests so far."""
    events, some.asker.events = some.asker.events, []
    for event in events:
        some.record(event, at_ms=some.asker.now_ms)
    return events


@asynchronous
async def test_total_loss() -> None:
    with rig() as some:
        ask = some.asker
        ask.register("t", "u", "a", broker="a", addr="h:1")
        ask.register("t", "v", "b", broker="b", addr="h:2", connection=2)
        record_all(some)
        async with some.client() as client:
            found = await get_json(client, "/v1/overview")
            assert (found["topics_lost_total"], found["condition"]) == (0, "ok")
            for connection in (1, 2):
                outcome = ask.nameserver.connection_lost(connection, reason=DownReason.CLOSED, now_ms=ask.now_ms)
                ask.events += outcome.events
                record_all(some)
                found = await get_json(client, "/v1/overview")
                if connection == 1:
                    assert found["topics_lost"] == ["u"]
            assert (found["topics_lost"], found["brokers"]["down"]) == (["t", "u", "v"], 2)
            assert found["condition"] == "degraded"
            assert found["parts"]["brokers"]["says"].startswith("all 2 brokers are down: 3 topics have no route")
            loss = await get_json(client, "/v1/brokers/b/loss")
            assert (loss["topics"], loss["only_here"]["names"]) == (2, ["t", "v"])
            assert loss["down_at_ms"] == ask.now_ms
            ask.register("t", "u", "a", broker="a", addr="h:1", connection=3)
            record_all(some)
            found = await get_json(client, "/v1/overview")
            assert (found["topics_lost"], found["condition"]) == (["v"], "ok")


@asynchronous
async def test_read_only_groups() -> None:
    ask = CoreClient()
    ask.register("t", "u", broker="a", addr="h:1")
    ask.register("t", "u", broker="b", addr="h:2", connection=2)
    assert await read_only_groups(ask.nameserver) == frozenset()
    ask.ask(205, {"brokerName": "b"})
    assert await read_only_groups(ask.nameserver) == {"b"}
    ask.ask(205, {"brokerName": "a"})
    assert await read_only_groups(ask.nameserver) == {"a", "b"}


def test_a_registration_that_undoes_a_wipe() -> None:
    ask = CoreClient()
    ask.register("t", "u", broker="a", addr="h:1")
    ask.ask(205, {"brokerName": "a"})
    ask.events.clear()
    ask.register("t", "u", broker="a", addr="h:1", counter=2)
    (event,) = [event for event in ask.events if isinstance(event, TopicsChanged)]
    assert summarize(Record(FORMAT_VERSION, "n", "b", 1, 1, event)).fields["writable_again"] == 2
