"""Probes, server, health and KV endpoints."""

from tests.support.asynchronous import asynchronous
from tests.support.http import get_json, rig


@asynchronous
async def test_the_server_shows_its_settings_without_secrets() -> None:
    with rig(settings={"routebook.tls.keyPassword": "s3cret"}) as some:
        some.asker.register("t", "u")
        some.asker.now_ms += 5000
        async with some.client() as client:
            answer = await get_json(client, "/v1/server")
            assert (answer["ns"], answer["boot"], answer["uptime_s"], answer["ready"]) == ("n", "b", 5.0, True)
            assert answer["sizes"] == {"clusters": 1, "broker_groups": 1, "brokers": 1, "topics": 2}
            assert answer["settings"]["listenPort"] == 9876
            assert "s3cret" not in (await client.get("/v1/server")).text
            assert "routebook.tls.keyPassword" not in answer["settings"]


@asynchronous
async def test_kv() -> None:
    with rig() as some:
        some.asker.ask(100, {"namespace": "N", "key": "k", "value": "v"})
        some.asker.ask(100, {"namespace": "M", "key": "\ud800", "value": "w"})
        async with some.client() as client:
            assert (await get_json(client, "/v1/kv"))["namespaces"] == {"N": {"k": "v"}, "M": {"\ud800": "w"}}
            assert (await get_json(client, "/v1/kv?namespace=N"))["namespaces"] == {"N": {"k": "v"}}


@asynchronous
async def test_probes() -> None:
    with rig() as some:
        async with some.client() as client:
            assert (await get_json(client, "/healthz"))["status"] == "alive"
            assert await get_json(client, "/readyz") == {"ready": True, "waiting_for": {}}
            assert (await get_json(client, "/v1/health"))["parts"]["journal"]["condition"] == "ok"
            some.health.hold("stop", "the server is stopping")
            response = await client.get("/readyz")
            assert response.status_code == 503
            assert response.json() == {"ready": False, "waiting_for": {"stop": "the server is stopping"}}
            assert (await get_json(client, "/healthz"))["status"] == "alive"
