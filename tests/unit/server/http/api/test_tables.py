"""The JSON API over real tables: what it answers, and how it refuses."""

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from routebook.errors import JournalError
from routebook.history.query.answers import Cause, Certainty, PastBroker, PastBrokers, PastRoute
from routebook.model import BrokerData, QueueData, TopicRoute
from tests.support.asynchronous import asynchronous
from tests.support.http import Rig, rig

CERTAINTY = Certainty(known=True, observed=True, events_may_be_missing=False, missing=[], extent=None)


def refused(response: httpx.Response, status: int) -> dict[str, str]:
    """A problem with both its parts."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    problem: dict[str, str] = response.json()
    assert set(problem) == {"error", "hint"}
    assert all(problem.values())
    return problem


async def got(client: httpx.AsyncClient, path: str) -> Any:
    response = await client.get(path)
    assert response.status_code == 200, response.text
    return response.json()


@asynchronous
async def test_this_server_and_its_settings_but_no_secret() -> None:
    with rig(settings={"routebook.tls.keyPassword": "s3cret"}) as some:
        some.asker.register("t", "u")
        some.asker.now_ms += 5000
        async with some.client() as client:
            answer = await got(client, "/v1/server")
            assert (answer["ns"], answer["boot"], answer["uptime_s"], answer["ready"]) == ("n", "b", 5.0, True)
            assert answer["sizes"] == {"clusters": 1, "broker_groups": 1, "brokers": 1, "topics": 2}
            assert answer["settings"]["listenPort"] == 9876
            assert "s3cret" not in (await client.get("/v1/server")).text
            assert "routebook.tls.keyPassword" not in answer["settings"]


@asynchronous
async def test_clusters_and_brokers() -> None:
    with rig() as some:
        ask = some.asker
        ask.register("t", "u", broker="b1", addr="10.0.0.1:10911")
        ask.register("t", "u", broker="b1", addr="10.0.0.2:10911", broker_id="1", connection=2)
        ask.register("t", "u", broker="b2", addr="10.0.0.3:10911", connection=3, clusterName="Other")
        ask.now_ms += 61_000
        ask.ask(904, {"clusterName": "DefaultCluster", "brokerAddr": "10.0.0.1:10911"})
        async with some.client() as client:
            assert (await got(client, "/v1/clusters"))["clusters"] == [
                {"name": "DefaultCluster", "broker_groups": ["b1"], "brokers": 2},
                {"name": "Other", "broker_groups": ["b2"], "brokers": 1},
            ]
            answer = await got(client, "/v1/brokers")
            assert (answer["total"], answer["next"]) == (2, None)
            first, second = answer["groups"][0]["members"]
            assert (first["broker_id"], first["addr"], first["state"], first["silent_ms"]) == (
                *(0, "10.0.0.1:10911"),
                *("registered", 0),
            )
            assert (second["broker_id"], second["state"], second["silent_ms"]) == (1, "late", 61_000)
            assert second["data_version"]["counter"] == 1
            assert [group["name"] for group in (await got(client, "/v1/brokers?cluster=Other"))["groups"]] == ["b2"]
            assert (await got(client, "/v1/brokers?cluster=nowhere"))["groups"] == []
            page = await got(client, "/v1/brokers?limit=1")
            assert ([group["name"] for group in page["groups"]], page["next"]) == (["b1"], "b1")
            page = await got(client, "/v1/brokers?limit=1&after=b1")
            assert ([group["name"] for group in page["groups"]], page["next"]) == (["b2"], None)
            one = await got(client, "/v1/brokers/b1")
            assert (one["topics"], len(one["group"]["members"])) == (2, 2)
            refused(await client.get("/v1/brokers/b3"), 404)


@asynchronous
async def test_topics_are_paged_and_searched() -> None:
    with rig() as some:
        some.asker.register(*[f"Topic-{number:03}" for number in range(250)], broker="b1")
        some.asker.register("other", "more", broker="b2", addr="10.0.0.2:1", connection=2)
        async with some.client() as client:
            page = await got(client, "/v1/topics")
            assert (page["total"], len(page["topics"]), page["next"]) == (252, 100, "Topic-099")
            assert page["topics"][0] == {"name": "Topic-000", "brokers": 1, "read_queues": 8, "write_queues": 8}
            names = [topic["name"] for topic in page["topics"]]
            while page["next"] is not None:
                page = await got(client, f"/v1/topics?after={page['next']}")
                names += [topic["name"] for topic in page["topics"]]
            assert names == sorted(some.asker.nameserver.routes.topics())
            found = await got(client, "/v1/topics?q=TOPIC-01&limit=3")
            assert [topic["name"] for topic in found["topics"]] == ["Topic-010", "Topic-011", "Topic-012"]
            assert found["next"] == "Topic-012"
            assert [topic["name"] for topic in (await got(client, "/v1/topics?broker=b2"))["topics"]] == [
                "more",
                "other",
            ]
            assert (await got(client, "/v1/topics?broker=b2&q=topic"))["topics"] == []
            for limit in ("0", "-1", "1001", "many"):
                refused(await client.get(f"/v1/topics?limit={limit}"), 400)


ODD = ["plain", "%RETRY%group", "a/b", "a//b/", "/", "ü 中文", "<script>alert(1)</script>", "a?b#c", "%2F", "\ud800x"]


@pytest.mark.parametrize("topic", ODD)
@asynchronous
async def test_a_topic_is_found_whatever_its_name_holds(topic: str) -> None:
    with rig() as some:
        some.asker.register("another", "one")
        queue = QueueData(broker_name="broker-a", perm=6, read_queue_nums=4, topic_sys_flag=0, write_queue_nums=4)
        some.asker.nameserver.routes.register_topic(topic, [queue])
        path = quote(topic.encode("utf-8", "surrogatepass"), safe="")
        async with some.client() as client:
            answer = await got(client, f"/v1/routes/{path}")
            assert answer["topic"] == topic
            assert answer["route"]["queues"][0]["writable"]
            listed = await got(client, "/v1/topics")
            assert topic in [one["name"] for one in listed["topics"]]


@asynchronous
async def test_a_route_now() -> None:
    with rig() as some:
        some.asker.register("t", "u", broker="b1", addr="10.0.0.1:10911")
        some.asker.ask(100, {"namespace": "ORDER_TOPIC_CONFIG", "key": "t", "value": "b1:4"})
        async with some.client() as client:
            answer = await got(client, "/v1/routes/t")
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
            refused(await client.get("/v1/routes/nowhere"), 404)
            refused(await client.get("/v1/routes/"), 404)


class OneRoute:
    """A history that knows one thing, or nothing any more."""

    def __init__(self, problem: Exception | None = None) -> None:
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
async def test_a_route_then() -> None:
    with rig() as some:
        some.context.history = history = OneRoute()
        async with some.client() as client:
            answer = await got(client, "/v1/routes/t?at=2024-11-16T03:12:00Z")
            assert history.asked == [("t", 1_731_726_720_000)]
            assert answer["at_ms"] == 1_731_726_720_000
            assert answer["route"]["brokers"][0]["addrs"] == {"0": "a:1"}
            assert not answer["route"]["queues"][0]["writable"]
            assert answer["past"]["cause"] == {"seq": 3, "at_ms": 1, "kind": "broker_up"}
            assert answer["past"]["certainty"]["known"]
            assert (await got(client, "/v1/routes/nothing?at=5"))["route"] is None
            then = await got(client, "/v1/brokers?at=7")
            assert [group["name"] for group in then["groups"]] == ["b", "d"]
            assert [group["name"] for group in (await got(client, "/v1/brokers?at=7&cluster=e"))["groups"]] == ["d"]
            refused(await client.get("/v1/routes/t?at=soon"), 400)


@asynchronous
async def test_without_history_or_with_one_that_fails_the_past_is_unavailable() -> None:
    with rig() as some:
        async with some.client() as client:
            refused(await client.get("/v1/routes/t?at=5"), 503)
            refused(await client.get("/v1/brokers?at=5"), 503)
            some.context.history = OneRoute(JournalError("the index is being made"))
            problem = refused(await client.get("/v1/routes/t?at=5"), 503)
            assert "the index is being made" in problem["error"]


@asynchronous
async def test_kv() -> None:
    with rig() as some:
        some.asker.ask(100, {"namespace": "N", "key": "k", "value": "v"})
        some.asker.ask(100, {"namespace": "M", "key": "\ud800", "value": "w"})
        async with some.client() as client:
            assert (await got(client, "/v1/kv"))["namespaces"] == {"N": {"k": "v"}, "M": {"\ud800": "w"}}
            assert (await got(client, "/v1/kv?namespace=N"))["namespaces"] == {"N": {"k": "v"}}


@asynchronous
async def test_probes() -> None:
    with rig() as some:
        async with some.client() as client:
            assert (await got(client, "/healthz"))["status"] == "alive"
            assert await got(client, "/readyz") == {"ready": True, "waiting_for": {}}
            assert (await got(client, "/v1/health"))["parts"]["journal"]["condition"] == "ok"
            some.health.hold("stop", "the server is stopping")
            response = await client.get("/readyz")
            assert response.status_code == 503
            assert response.json() == {"ready": False, "waiting_for": {"stop": "the server is stopping"}}
            assert (await got(client, "/healthz"))["status"] == "alive"


@asynchronous
async def test_refusals() -> None:
    with rig() as some:
        async with some.client() as client:
            refused(await client.get("/v2/topics"), 404)
            refused(await client.get("/v1/../../etc/passwd"), 404)
            refused(await client.get("/v1/events?kind=broker_dwn"), 400)
            refused(await client.get("/v1/events?last_event_id=x"), 400)
            refused(await client.get("/v1/peers"), 503)
            for method in ("POST", "PUT", "PATCH", "DELETE"):
                problem = refused(await client.request(method, "/v1/kv"), 405)
                assert method in problem["error"]
            assert "GET" in (await client.post("/v1/kv")).headers["allow"]


@asynchronous
async def test_a_bug_is_answered_without_its_details() -> None:
    with rig() as some:
        some.health.add("broken", lambda: 1 // 0)  # type: ignore[arg-type,return-value]  # broken on purpose
        async with some.client() as client:
            problem = refused(await client.get("/v1/health"), 500)
            assert problem["error"] == "internal error: ZeroDivisionError"
            assert (await got(client, "/healthz"))["status"] == "alive"


@asynchronous
async def test_too_many_watchers_are_sent_away() -> None:
    with rig(settings={"routebook.http.watchers": "2"}) as some:
        some.context.watchers = 2
        async with some.client() as client:
            problem = refused(await client.get("/v1/events"), 503)
            assert "routebook.http.watchers" in problem["hint"]


def test_rig_without_journal_has_no_last_number() -> None:
    assert Rig(None, None).context.journal is None
