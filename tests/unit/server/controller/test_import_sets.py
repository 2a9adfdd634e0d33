"""The import of broker sets, from a running Controller over TCP."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from routebook.controller.state import BrokerSet
from routebook.errors import StartError
from routebook.server.controller.import_sets import MASTER_EPOCHS, SYNC_STATE_EPOCHS, store
from routebook.server.controller.log import LogListener, Node
from routebook.server.controller.sqlite_log import SqliteLog
from tests.support.command_line import routebook
from tests.support.controllers import (
    ControllerProbe,
    controller_settings,
    free_address,
    routebook_controller,
    routebook_nameserver_with_controller,
)
from tests.support.remoting import Client, register
from tests.support.remoting_frames import Request

NODE = Node("n0", "127.0.0.1:9878")


def stored(folder: Path) -> dict[str, BrokerSet]:
    async def read() -> dict[str, BrokerSet]:
        found: dict[str, BrokerSet] = {}

        def take(sets: Mapping[str, BrokerSet]) -> None:
            found.update(sets)

        log = SqliteLog(folder, NODE)
        await log.start(LogListener(take, lambda _name, _state: None, lambda _leads: None))
        await log.stop()
        return found

    return asyncio.run(read())


def ask(probe: ControllerProbe, code: int, body: bytes = b"", **ext: str) -> None:
    reply = probe.ask(code, body, clusterName="c1", brokerName="broker-a", **ext)
    assert reply.code == 0, reply


def test_a_running_controller_is_imported(tmp_path: Path) -> None:
    """Ids 1 and 3 (2 was removed), 1 is master, both in sync: the same in the new Controller, with higher epochs."""
    with routebook_nameserver_with_controller(tmp_path / "old") as (nameserver, old):
        host, _, port = nameserver.rpartition(":")
        probe = ControllerProbe(old)
        with Client((host, int(port))) as broker, Client(("127.0.0.1", int(old.rpartition(":")[2]))) as alive:
            assert broker.ask(register(broker="broker-a", cluster="c1", addr="10.0.0.1:1")).code == 0
            for number in ("1", "2", "3"):
                ask(probe, 1013, appliedBrokerId=number, registerCheckCode=f"10.0.0.{number}:1;7")
            ask(probe, 1011, brokerControllerIdsToClean="2")
            for number in ("1", "3"):
                fields = {"clusterName": "c1", "brokerName": "broker-a", "brokerId": number}
                assert alive.ask(Request(code=904, ext=fields)).code == 0
            ask(probe, 1002, brokerId="1")
            ask(probe, 1001, b'{"syncStateSet":[1,3],"syncStateSetEpoch":1}', masterBrokerId="1", masterEpoch="1")

            new, home = free_address(), tmp_path / "new"
            home.mkdir()
            file = home / "node.conf"
            file.write_text("".join(f"{key}={value}\n" for key, value in controller_settings(new, home).items()))
            command = ("controller", "import", "--from", old, "-n", nameserver, "-c", str(file))
            ran = routebook(*command, "--home", str(home / "home"))
            assert ran.code == 0, ran
            assert ran.out == f"broker-a: 2 replicas, master 1, epoch {1 + MASTER_EPOCHS}\n"
            again = routebook(*command, "--home", str(home / "home"))
            assert again.code != 0
            assert "the sets broker-a exist already: import into an empty Controller" in again.err

    (found,) = stored(home / "store").values()
    assert found.cluster == "c1"
    assert {number: replica.address for number, replica in found.replicas.items()} == {1: "10.0.0.1:1", 3: "10.0.0.3:1"}
    assert (found.master_id, found.master_epoch) == (1, 1 + MASTER_EPOCHS)
    assert (found.sync_state_set, found.sync_state_epoch) == ((1, 3), 2 + SYNC_STATE_EPOCHS)
    assert (found.retired, found.next_id) == (frozenset({2}), 4)
    with routebook_controller(home, address=new):
        state = ControllerProbe(new).state("broker-a")
        assert state is not None
        assert state.in_sync == {1: "10.0.0.1:1", 3: "10.0.0.3:1"}


def test_nothing_is_written_if_a_set_exists(tmp_path: Path) -> None:
    one = BrokerSet(cluster="c", name="a", replicas={})

    async def twice() -> None:
        from routebook.controller.state import Replica

        full = BrokerSet(cluster="c", name="a", replicas={1: Replica("x:1", "x:1;7")})
        await store(SqliteLog(tmp_path, NODE), [full])
        with pytest.raises(StartError, match="the sets a exist already"):
            await store(SqliteLog(tmp_path, NODE), [full, one])

    asyncio.run(twice())
    assert list(stored(tmp_path)) == ["a"]
