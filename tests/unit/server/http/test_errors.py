"""Every error is JSON with an error and a hint."""

from tests.support.asynchronous import asynchronous
from tests.support.http import get_json, problem_of, rig


@asynchronous
async def test_errors_are_json_with_a_hint() -> None:
    with rig() as some:
        async with some.client() as client:
            problem_of(await client.get("/v2/topics"), 404)
            problem_of(await client.get("/v1/../../etc/passwd"), 404)
            problem_of(await client.get("/v1/events?kind=broker_dwn"), 400)
            problem_of(await client.get("/v1/events?last_event_id=x"), 400)
            problem_of(await client.get("/v1/peers"), 503)
            for method in ("POST", "PUT", "PATCH", "DELETE"):
                problem = problem_of(await client.request(method, "/v1/kv"), 405)
                assert method in problem["error"]
            assert "GET" in (await client.post("/v1/kv")).headers["allow"]


@asynchronous
async def test_an_internal_error_hides_its_details() -> None:
    with rig() as some:
        some.health.add("broken", lambda: 1 // 0)  # type: ignore[arg-type,return-value]  # broken on purpose
        async with some.client() as client:
            problem = problem_of(await client.get("/v1/health"), 500)
            assert problem["error"] == "internal error: ZeroDivisionError"
            assert (await get_json(client, "/healthz"))["status"] == "alive"


@asynchronous
async def test_too_many_watchers_are_503() -> None:
    with rig(settings={"routebook.http.watchers": "2"}) as some:
        some.context.watchers = 2
        async with some.client() as client:
            problem = problem_of(await client.get("/v1/events"), 503)
            assert "routebook.http.watchers" in problem["hint"]


@asynchronous
async def test_an_unknown_path_is_shown_printable_and_short() -> None:
    with rig() as some:
        async with some.client() as client:
            assert problem_of(await client.get("/a%1b[31m"), 404)["error"] == "/a\\x1b[31m does not exist"
            assert len(problem_of(await client.get("/" + "x" * 10_000), 404)["error"]) < 300
