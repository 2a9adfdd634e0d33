"""`/v1/topics` and `/v1/routes`, now and in the past."""

from pathlib import Path
from urllib.parse import quote

import pytest

from routebook.errors import JournalError
from routebook.history.query.answers import Cause, Certainty, PastBroker, PastBrokers, PastRoute
from routebook.history.query.history import History
from routebook.model import BrokerData, QueueData, TopicRoute
from tests.support.asynchronous import asynchronous
from tests.support.http import get_json, problem_of, rig

CERTAINTY = Certainty(known=True, observed=True, events_may_be_missing=False, missing=[], extent=None)


@asynchronous
async def test_topics_have_pages_and_filters() -> None:
    with rig() as some:
        some.asker.register(*[f"Topic-{number:03}" for number in range(250)], broker="b1")
        some.asker.register("other", "more", broker="b2", addr="10.0.0.2:1", connection=2)
        async with some.client() as client:
            page = await get_json(client, "/v1/topics")
            assert (page["total"], len(page["topics"]), page["next"]) == (252, 100, "Topic-099")
            assert page["topics"][0] == {"name": "Topic-000", "brokers": 1, "read_queues": 8, "write_queues": 8}
            names = [topic["name"] for topic in page["topics"]]
            while page["next"] is not None:
                page = await get_json(client, f"/v1/topics?after={page['next']}")
                names += [topic["name"] for topic in page["topics"]]
            assert names == sorted(some.asker.nameserver.routes.topics())
            found = await get_json(client, "/v1/topics?q=TOPIC-01&limit=3")
            assert [topic["name"] for topic in found["topics"]] == ["Topic-010", "Topic-011", "Topic-012"]
            assert found["next"] == "Topic-012"
            assert [topic["name"] for topic in (await get_json(client, "/v1/topics?broker=b2"))["topics"]] == [
                "more",
                "other",
            ]
            assert (await get_json(client, "/v1/topics?broker=b2&q=topic"))["topics"] == []
            for limit in ("0", "-1", "1001", "many"):
                problem_of(await client.get(f"/v1/topics?limit={limit}"), 400)


ODD = ["plain", "%RETRY%group", "a/b", "a//b/", "/", "ü 中文", "<script>alert(1)</script>", "a?b#c", "%2F", "\ud800x"]


@pytest.mark.parametrize("topic", ODD)
@asynchronous
async def test_a_topic_name_may_contain_any_character(topic: str) -> None:
    with rig() as some:
        some.asker.register("another", "one")
        queue = QueueData(broker_name="broker-a", perm=6, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=4)
        some.asker.nameserver.routes.register_topic(topic, [queue])
        path = quote(topic.encode("utf-8", "surrogatepass"), safe="")
        async with some.client() as client:
            answer = await get_json(client, f"/v1/routes/{path}")
            assert answer["topic"] == topic
            assert answer["route"]["queues"][0]["writable"]
            listed = await get_json(client, "/v1/topics")
            assert topic in [one["name"] for one in listed["topics"]]


@asynchronous
async def test_the_current_route() -> None:
    with rig() as some:
        some.asker.register("t", "u", broker="b1", addr="10.0.0.1:10911")
        some.asker.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "t", "value": "b1:4"})
        async with some.client() as client:
            answer = await get_json(client, "/v1/routes/t")
            assert answer["past"] is None
            assert answer["route"] == {
                "brokers": [
                    {
                        "name": "b1",
                        "cluster": "DefaultCluster",
                        "acting_master": False,
                        "zone": None,
                        "addrs": {"0": "10.0.0.1:10911"},
                    }
                ],
                "queues": [
                    {
                        "broker": "b1",
                        "perm": 6,
                        "readable": True,
                        "writable": True,
                        "read_queues": 8,
                        "write_queues": 8,
                        "system_flag": 0,
                    }
                ],
                "filter_servers": {},
                "static_mappings": {},
                "order_config": "b1:4",
            }
            problem_of(await client.get("/v1/routes/nowhere"), 404)
            problem_of(await client.get("/v1/routes/"), 404)


class OneRoute(History):
    """A history with one route, or one that fails."""

    def __init__(self, problem: Exception | None = None) -> None:
        super().__init__(Path("unused"))
        self.asked: list[tuple[str, int]] = []
        self._problem = problem

    def route_at(self, topic: str, at_ms: int) -> PastRoute:
        self.asked.append((topic, at_ms))
        if self._problem is not None:
            raise self._problem
        data = BrokerData(broker_addrs={0: "a:1"}, broker_name="b", cluster="c", enable_acting_master=False)
        queue = QueueData(broker_name="b", perm=4, read_queue_nums=1, topic_sys_flag=0, write_queue_nums=2)
        route = TopicRoute(broker_datas=[data], filter_server_table={}, queue_datas=[queue])
        return PastRoute(
            topic=topic,
            at_ms=at_ms,
            route=route if topic == "t" else None,
            valid_from_ms=1,
            valid_to_ms=None,
            cause=Cause(seq=3, at_ms=1, kind="broker_up"),
            certainty=CERTAINTY,
        )

    def brokers_at(self, at_ms: int) -> PastBrokers:
        brokers = [
            PastBroker(broker=name, cluster=cluster, addrs={0: "a:1"}, acting_master=False, zone=None, since_ms=4)
            for name, cluster in (("b", "c"), ("d", "e"))
        ]
        return PastBrokers(at_ms=at_ms, brokers=brokers, certainty=CERTAINTY)


@asynchronous
async def test_a_past_route() -> None:
    with rig() as some:
        some.context.history = history = OneRoute()
        async with some.client() as client:
            answer = await get_json(client, "/v1/routes/t?at=2024-11-16T03:12:00Z")
            assert history.asked == [("t", 1_731_726_720_000)]
            assert answer["at_ms"] == 1_731_726_720_000
            assert answer["route"]["brokers"][0]["addrs"] == {"0": "a:1"}
            assert not answer["route"]["queues"][0]["writable"]
            assert answer["past"]["cause"] == {"seq": 3, "at_ms": 1, "kind": "broker_up"}
            assert answer["past"]["certainty"]["known"]
            assert (await get_json(client, "/v1/routes/nothing?at=5"))["route"] is None
            then = await get_json(client, "/v1/brokers?at=7")
            assert [group["name"] for group in then["groups"]] == ["b", "d"]
            assert [group["name"] for group in (await get_json(client, "/v1/brokers?at=7&cluster=e"))["groups"]] == [
                "d"
            ]
            problem_of(await client.get("/v1/routes/t?at=soon"), 400)


@asynchronous
async def test_a_missing_or_failing_history_is_503() -> None:
    with rig() as some:
        async with some.client() as client:
            problem_of(await client.get("/v1/routes/t?at=5"), 503)
            problem_of(await client.get("/v1/brokers?at=5"), 503)
            problem_of(await client.get("/v1/topics?at=5"), 503)
            problem_of(await client.get("/v1/topics?at=5&broker=b"), 400)
            some.context.history = OneRoute(JournalError("the index is being made"))
            problem = problem_of(await client.get("/v1/routes/t?at=5"), 503)
            assert "the index is being made" in problem["error"]
