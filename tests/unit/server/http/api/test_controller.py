"""`/v1/controller…` and the admin actions, over a NameServer with a Controller and its history."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

from routebook.controller.record import Origin
from routebook.server.controller.node import ControllerNode
from routebook.server.http.api.parts import Parts
from routebook.server.http.app import create_app
from routebook.server.http.guard import Guard
from routebook.server.http.transport.hosts import allowed_hosts
from routebook.wire.command import Command
from tests.support.free_ports import free_port
from tests.support.http import get_json, problem_of
from tests.support.identities import ADMIN, LIMITED, READER, write_identities
from tests.support.in_process_server import running, until


class Brokers:
    """Sends requests of brokers to the Controller."""

    def __init__(self, node: ControllerNode) -> None:
        self.node = node

    async def ask(self, code: int, body: bytes | None = None, **ext: str) -> None:
        command = Command(code, 1, ext={"clusterName": "C", "brokerName": "b-a", **ext}, body=body)
        reply = await self.node.ask(command, Origin("10.0.0.1:5000", None, code))
        assert reply.code == 0, reply

    async def pair(self) -> None:
        """Broker 1 is master, 1 and 2 are in sync."""
        for number in ("1", "2"):
            await self.ask(1013, appliedBrokerId=number, registerCheckCode=f"10.0.0.{number}:1;7")
            await self.ask(904, brokerId=number, epoch="1", maxOffset="64", heartbeatTimeoutMills="600000")
        await self.ask(1002, brokerId="1")
        body = b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}'
        await self.ask(1001, masterBrokerId="1", masterEpoch="1", body=body)


def run(home: Path, body: Callable[[httpx.AsyncClient, Brokers], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        controller: dict[str, Any] = {
            "enableControllerInNamesrv": True,
            "controllerDLegerGroup": "g1",
            "controllerDLegerPeers": f"n0-127.0.0.1:{free_port()}",
            "controllerDLegerSelfId": "n0",
        }
        async with running(home, **controller, **settings) as server:
            node = await server.start_controller()
            assert node is not None
            await server.start_history_and_peers()
            context = server.http_context()
            parts = Parts(context)
            app = Guard(create_app(parts), context, hosts=allowed_hosts("127.0.0.1", setting=""))
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            try:
                async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8876") as client:
                    await body(client, Brokers(node))
            finally:
                parts.close()

    asyncio.run(main())


async def history_of(client: httpx.AsyncClient, path: str, wanted: Callable[[Any], bool]) -> Any:
    """Repeat until the history has indexed what is wanted."""
    found: list[Any] = []

    async def ask() -> None:
        while not (found and wanted(found[-1])):
            found.append(await get_json(client, path))
            await asyncio.sleep(0.02)

    task = asyncio.create_task(ask())
    await until(task.done, path)
    task.result()
    return found[-1]


def test_leader_sets_and_elections_now_and_in_the_past(tmp_path: Path) -> None:
    async def body(client: httpx.AsyncClient, brokers: Brokers) -> None:
        await brokers.pair()
        overview = await get_json(client, "/v1/controller")
        assert overview["enabled"]
        assert (overview["sets"], overview["sets_without_master"], overview["replicas_out_of_sync"]) == (1, 0, 0)
        node = overview["node"]
        assert (node["group"], node["node"], node["is_leader"], node["engine"]) == ("g1", "n0", True, "sqlite")
        assert [(peer["id"], peer["leads"], peer["is_self"]) for peer in node["peers"]] == [("n0", True, True)]
        (one,) = (await get_json(client, "/v1/controller/sets"))["sets"]
        assert (one["broker"], one["master_id"], one["master_addr"], one["master_epoch"]) == ("b-a", 1, "10.0.0.1:1", 1)
        replicas = [(row["id"], row["is_master"], row["in_sync"], row["alive"]) for row in one["replicas"]]
        assert replicas == [(1, True, True, True), (2, False, True, True)]
        assert (await get_json(client, "/v1/controller/sets/b-a"))["set"] == one

        before = brokers.node.service._now_ms()
        await asyncio.sleep(0.005)  # the next record has a later time
        await brokers.ask(1002, brokerId="2", designateElect="true")
        elections = await history_of(client, "/v1/controller/elections?broker=b-a", lambda a: len(a["elections"]) == 2)
        newest, first = elections["elections"]
        assert (newest["master_id"], newest["before_id"], newest["cause"]) == (2, 1, "operator")
        assert (first["master_id"], first["cause"], first["peer"]) == (1, "first", "10.0.0.1:5000")
        past = (await get_json(client, f"/v1/controller/sets/b-a?at={before}"))["past"]
        assert (past["set"]["master_id"], past["led"], past["set"]["election"]["cause"]) == (1, True, "first")
        assert past["set"]["until_ms"] is not None
        everything = (await get_json(client, f"/v1/controller/sets?at={before}"))["past"]
        assert [row["broker"] for row in everything["sets"]] == ["b-a"]
        problem_of(await client.get("/v1/controller/sets/x"), 404)

    run(tmp_path, body)


def test_elect_and_clean_show_what_they_would_change_and_then_do_it(tmp_path: Path) -> None:
    async def body(client: httpx.AsyncClient, brokers: Brokers) -> None:
        await brokers.pair()
        sets = brokers.node.machine.sets
        wish = {"broker": "b-a", "broker_id": 2}
        preview = (await client.post("/v1/admin/controller/elect", json=wish, auth=ADMIN)).json()
        assert {row["what"]: (row["before"], row["after"]) for row in preview["changes"]} == {
            "master of b-a": ("1 at 10.0.0.1:1", "2 at 10.0.0.2:1"),
            "master epoch": ("1", "2"),
            "in-sync replicas": ("1, 2", "2"),
        }
        assert (preview["done"], sets["b-a"].master_id) == (False, 1)
        done = (await client.post("/v1/admin/controller/elect", json={**wish, "dry_run": False}, auth=ADMIN)).json()
        assert (done["done"], sets["b-a"].master_id) == (True, 2)
        path = "/v1/controller/elections"
        denied = await client.get(path)
        assert denied.status_code == 401  # has the addresses of clients
        response = await client.get(path, auth=ADMIN)
        assert response.status_code == 200
        nothing = (await client.post("/v1/admin/controller/elect", json=wish, auth=ADMIN)).json()
        assert (nothing["changes"], nothing["notes"][0][:16]) == ([], "The old master 2")

        clean = {"broker": "b-a", "broker_ids": [1], "dry_run": False}
        rejected = await client.post("/v1/admin/controller/clean", json=clean, auth=ADMIN)
        assert rejected.status_code == 409
        assert "still alive" in rejected.json()["error"]
        cleaned = (await client.post("/v1/admin/controller/clean", json={**clean, "living": True}, auth=ADMIN)).json()
        assert [(row["what"], row["after"]) for row in cleaned["changes"]] == [("replica 1", None)]
        assert list(sets["b-a"].replicas) == [2]

    run(tmp_path, body, routebook_auth_file=write_identities(tmp_path))


def test_only_an_administrator_of_the_cluster_may_elect(tmp_path: Path) -> None:
    async def body(client: httpx.AsyncClient, brokers: Brokers) -> None:
        await brokers.pair()
        for identity, status in ((READER, 403), (LIMITED, 403), (("root", "wrong"), 401)):
            wish = {"broker": "b-a", "broker_id": 2, "dry_run": False}
            response = await client.post("/v1/admin/controller/elect", json=wish, auth=identity)
            assert response.status_code == status, response.text
        assert brokers.node.machine.sets["b-a"].master_id == 1

    run(tmp_path, body, routebook_auth_file=write_identities(tmp_path))
