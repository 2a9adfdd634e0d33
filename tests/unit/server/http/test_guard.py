"""Around the application: names, headers, HEAD, counts."""

import httpx

from routebook.server.http.api.schema_page import STYLE_HASH
from tests.support.asynchronous import asynchronous
from tests.support.http import rig


@asynchronous
async def test_every_answer_tells_browsers_to_keep_to_themselves() -> None:
    with rig() as some:
        async with some.client() as client:
            for path in ("/healthz", "/nowhere", "/schema", "/metrics", "/v1/topics"):
                headers = (await client.get(path, headers={"origin": "http://evil.example"})).headers
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["x-frame-options"] == "DENY"
                assert headers["content-security-policy"].startswith("default-src 'none'")
                assert headers["cross-origin-resource-policy"] == "same-origin"
                assert headers["cache-control"] == "no-store"
                assert not [name for name in headers if name.startswith("access-control-")]
                assert "server" not in headers


@asynchronous
async def test_a_name_that_is_not_ours_is_refused() -> None:
    with rig() as some:
        async with some.client(hosts="mq.example.com") as client:
            for host, status in (("evil.example", 421), ("10.0.0.1:8876", 200), ("mq.example.com", 200)):
                response = await client.get("/healthz", headers={"host": host})
                assert response.status_code == status
                assert response.headers["x-frame-options"] == "DENY"
            response = await client.get("/v1/events", headers={"host": "evil.example"})
            assert set(response.json()) == {"error", "hint"}


@asynchronous
async def test_head_is_get_but_for_the_endless_one() -> None:
    with rig() as some:
        async with some.client() as client:
            response = await client.head("/v1/topics")
            assert response.status_code == 200
            assert int(response.headers["content-length"]) > 0
            assert (await client.head("/v1/events")).status_code == 405


@asynchronous
async def test_requests_are_counted_by_route_not_by_path() -> None:
    with rig() as some:
        async with some.client() as client:
            for number in range(20):
                await client.get(f"/v1/routes/topic-{number}")
                await client.get(f"/nowhere/{number}")
            await client.get("/healthz")
        counted = some.context.http_requests
        assert counted == {("/v1/routes/{topic}", 404): 20, ("other", 404): 20, ("/healthz", 200): 1}


@asynchronous
async def test_the_page_loads_nothing_and_runs_nothing() -> None:
    with rig() as some:
        async with some.client() as client:
            response: httpx.Response = await client.get("/schema")
            page = response.text
            assert response.headers["content-type"].startswith("text/html")
            assert STYLE_HASH in response.headers["content-security-policy"]
            assert "<script" not in page
            assert "http://" not in page
            assert "https://" not in page
            assert "src=" not in page
            for path in ("/v1/topics", "/v1/routes/{topic}", "/v1/events", "/metrics"):
                assert path in page
            for name in ("RouteAnswer", "Problem", "HealthReport"):
                assert f"id='{name}'" in page
