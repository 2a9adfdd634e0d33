"""`/v1/clusters` and `/v1/brokers`."""

from tests.support.asynchronous import asynchronous
from tests.support.http import get_json, problem_of, rig


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
            assert (await get_json(client, "/v1/clusters"))["clusters"] == [
                {"name": "DefaultCluster", "broker_groups": ["b1"], "brokers": 2},
                {"name": "Other", "broker_groups": ["b2"], "brokers": 1},
            ]
            answer = await get_json(client, "/v1/brokers")
            assert (answer["total"], answer["next"]) == (2, None)
            first, second = answer["groups"][0]["members"]
            assert (first["broker_id"], first["addr"], first["state"], first["silent_ms"]) == (
                *(0, "10.0.0.1:10911"),
                *("registered", 0),
            )
            assert (second["broker_id"], second["state"], second["silent_ms"]) == (1, "late", 61_000)
            assert second["data_version"]["counter"] == 1
            assert [group["name"] for group in (await get_json(client, "/v1/brokers?cluster=Other"))["groups"]] == [
                "b2"
            ]
            assert (await get_json(client, "/v1/brokers?cluster=nowhere"))["groups"] == []
            page = await get_json(client, "/v1/brokers?limit=1")
            assert ([group["name"] for group in page["groups"]], page["next"]) == (["b1"], "b1")
            page = await get_json(client, "/v1/brokers?limit=1&after=b1")
            assert ([group["name"] for group in page["groups"]], page["next"]) == (["b2"], None)
            one = await get_json(client, "/v1/brokers/b1")
            assert (one["topics"], len(one["group"]["members"])) == (2, 2)
            problem_of(await client.get("/v1/brokers/b3"), 404)
