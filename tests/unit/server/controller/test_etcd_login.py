"""Users and tokens of etcd, against a real member with authentication."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from routebook.server.controller.etcd_client import EtcdClient
from routebook.server.controller.log import LogError
from tests.support.asynchronous import asynchronous
from tests.support.etcd import etcd_cluster

USER = ("routebook", "secret")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with etcd_cluster(Path(tmp_path_factory.mktemp("etcd")), 1) as cluster:
        (url,) = cluster.endpoints
        for path, body in (
            ("role/add", {"name": "root"}),
            ("user/add", {"name": "root", "password": "root"}),
            ("user/grant", {"user": "root", "role": "root"}),
            ("user/add", {"name": USER[0], "password": USER[1]}),
            ("user/grant", {"user": USER[0], "role": "root"}),
            ("enable", {}),
        ):
            assert httpx.post(f"{url}/v3/auth/{path}", json=body, timeout=30).status_code == 200
        yield url


def counted(client: EtcdClient) -> list[str]:
    """The paths of all requests from now on."""
    post, paths = client._client.post, []

    async def recorded(url: str, **arguments: Any) -> httpx.Response:
        paths.append(url.partition("/v3/")[2])
        return await post(url, **arguments)

    client._client.post = recorded  # type: ignore[method-assign, assignment]
    return paths


async def until_logged_in(client: EtcdClient) -> None:
    """Hashing the password may take longer than a request on a busy machine."""
    while True:
        try:
            await client.get(b"/x")
        except LogError:
            continue
        return


@asynchronous
async def test_all_requests_share_one_login(endpoint: str) -> None:
    client = EtcdClient([endpoint], auth=USER)
    paths = counted(client)
    await asyncio.gather(*(until_logged_in(client) for _ in range(10)))
    assert paths.count("auth/authenticate") == 1
    await client.close()


@asynchronous
async def test_a_rejected_token_is_renewed_once(endpoint: str) -> None:
    client = EtcdClient([endpoint], auth=USER)
    await until_logged_in(client)
    assert client._login is not None
    client._login._token = "unknown.1"  # as after a restart of the member
    paths = counted(client)
    await until_logged_in(client)
    assert paths.count("auth/authenticate") == 1
    await client.close()


@asynchronous
async def test_a_wrong_password_is_reported_and_not_tried_with_every_request(endpoint: str) -> None:
    client = EtcdClient([endpoint], auth=(USER[0], "wrong"))
    with pytest.raises(LogError):
        await client.get(b"/x")
    login = client._login
    assert login is not None
    assert login._running is not None
    with pytest.raises(LogError, match=r"user routebook cannot log in: .*authentication failed"):
        await login._running
    paths = counted(client)
    for _ in range(3):
        with pytest.raises(LogError):
            await client.get(b"/x")
    assert paths.count("auth/authenticate") <= 1
    await client.close()
