"""The guard: Host check, security headers, HEAD, request counts."""

from tests.support.asynchronous import asynchronous
from tests.support.http import rig


@asynchronous
async def test_every_response_has_security_headers() -> None:
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
async def test_an_unknown_host_is_rejected() -> None:
    with rig() as some:
        async with some.client(hosts="mq.example.com") as client:
            for host, status in (("evil.example", 421), ("10.0.0.1:8876", 200), ("mq.example.com", 200)):
                response = await client.get("/healthz", headers={"host": host})
                assert response.status_code == status
                assert response.headers["x-frame-options"] == "DENY"
            response = await client.get("/v1/events", headers={"host": "evil.example"})
            assert set(response.json()) == {"error", "hint"}


@asynchronous
async def test_head_works_except_on_the_stream() -> None:
    with rig() as some:
        async with some.client() as client:
            response = await client.head("/v1/topics")
            assert response.status_code == 200
            assert int(response.headers["content-length"]) > 0
            assert (await client.head("/v1/events")).status_code == 405


@asynchronous
async def test_requests_are_counted_by_route_template() -> None:
    with rig() as some:
        async with some.client() as client:
            for number in range(20):
                await client.get(f"/v1/routes/topic-{number}")
                await client.get(f"/nowhere/{number}")
            await client.get("/healthz")
        counted = some.context.http_requests
        assert counted == {("/v1/routes/{topic}", 404): 20, ("other", 404): 20, ("/healthz", 200): 1}
