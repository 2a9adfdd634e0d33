"""Known look-ups of authenticated connections: verified once, and denied as soon as the identity is gone."""

import os
from pathlib import Path

import pytest

from routebook.access.identities import Identities
from routebook.server.server import Server
from tests.support.asynchronous import asynchronous
from tests.support.core_client import register_body
from tests.support.in_process_server import ServerConnection, connected, running
from tests.support.remoting_frames import Request
from tests.support.signing import IDENTITIES, SECRETS, identities_file, signed

LOOK_UP = Request(code=105, ext={"topic": "orders-eu"})
MISSING = Request(code=105, ext={"topic": "none"})
BROKER = {"clusterName": "c1", "brokerName": "b", "brokerAddr": "10.0.0.1:10911", "brokerId": "0", "haServerAddr": ""}
REGISTER = Request(code=103, ext=BROKER, body=register_body("orders-eu", "orders-us"))


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The access keys of the signatures that were verified."""
    keys: list[str] = []
    verify = Identities.verify

    def recording(self: Identities, access_key: str, content: bytes, signature: str) -> object:
        keys.append(access_key)
        return verify(self, access_key, content, signature)

    monkeypatch.setattr(Identities, "verify", recording)
    return keys


async def codes(connection: ServerConnection, *requests: Request) -> list[int]:
    return [(await connection.ask(request)).code for request in requests]


@asynchronous
async def test_a_signature_is_verified_once_per_connection_and_request(tmp_path: Path, verified: list[str]) -> None:
    file = identities_file(tmp_path / "ids.toml")
    async with (
        running(tmp_path / "home", routebook_auth_file=file) as server,
        connected(server) as broker,
        connected(server) as client,
        connected(server) as other,
    ):
        assert await codes(broker, signed(REGISTER, "fleet")) == [0]
        found, missing = signed(LOOK_UP, "client"), signed(MISSING, "client")
        assert await codes(client, *[found, missing] * 4) == [0, 17] * 4
        assert verified == ["fleet", "client", "client"]
        verified.clear()
        assert await codes(other, found, found, missing) == [0, 0, 17]
        assert verified == ["client"], "another connection is checked by itself"
        verified.clear()
        assert await codes(other, signed(LOOK_UP, "ops-key"), found, signed(LOOK_UP, "ops-key")) == [0, 0, 0]
        assert verified == ["ops-key", "client", "ops-key"], "another signer"
        wrong = signed(LOOK_UP, "client", "another-secret")
        assert await codes(client, found, wrong, found) == [0, 16, 0]
        assert await codes(client, LOOK_UP) == [16]


@asynchronous
async def test_known_look_ups_are_denied_after_the_identity_is_gone(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml")
    async with (
        running(tmp_path / "home", routebook_auth_file=file) as server,
        connected(server) as broker,
        connected(server) as client,
    ):
        assert await codes(broker, signed(REGISTER, "fleet")) == [0]
        found = signed(LOOK_UP, "client")
        assert await codes(client, found, found) == [0, 0]
        _rewrite(server, file, IDENTITIES.replace(SECRETS["client"], "another-secret"))
        assert await codes(client, found) == [16]
        assert await codes(client, signed(LOOK_UP, "client", "another-secret")) == [0]
        _rewrite(server, file, IDENTITIES)
        assert await codes(client, found, found) == [0, 0]


@asynchronous
async def test_an_identity_that_is_not_permitted_from_here_stays_denied(tmp_path: Path) -> None:
    file = identities_file(tmp_path / "ids.toml")
    async with (
        running(tmp_path / "home", routebook_auth_file=file) as server,
        connected(server) as broker,
        connected(server) as client,
    ):
        assert await codes(broker, signed(REGISTER, "fleet")) == [0]
        assert await codes(client, signed(LOOK_UP, "client")) == [0]
        assert await codes(client, *[signed(LOOK_UP, "far")] * 2) == [16, 16]


@asynchronous
async def test_answers_are_counted_by_code(tmp_path: Path) -> None:
    async with running(tmp_path / "home") as server, connected(server) as client:
        assert await codes(client, REGISTER, *[LOOK_UP, MISSING] * 3) == [0, *[0, 17] * 3]
        requests, responses = server._port.shared.traffic.counts.totals()
        assert (requests[105], responses[17]) == (6, 3)


def _rewrite(server: Server, file: Path, text: str) -> None:
    identities_file(file, text)
    os.utime(file, ns=(1, file.stat().st_mtime_ns + 1))
    assert server.access is not None
    assert server.access.reload() is not None
