"""The API documentation page."""

import httpx

from routebook.server.http.views.schema_page import STYLE_HASH
from tests.support.asynchronous import asynchronous
from tests.support.http import rig


@asynchronous
async def test_the_page_has_no_scripts_and_no_external_resources() -> None:
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
