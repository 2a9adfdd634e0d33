"""`routebook controller elect|clean`, and `doctor`, against a Controller that requires signed requests."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from routebook.controller_events import MasterElected, ReplicasCleaned
from tests.support.command_line import CommandResult, routebook
from tests.support.controllers import controller_settings, free_address, routebook_process
from tests.support.journals import events
from tests.support.remoting import eventually, register
from tests.support.remoting_frames import Link, Request
from tests.support.signing import SECRETS, identities_file, signed

SET = {"clusterName": "c1", "brokerName": "broker-a"}


class Controller:
    """With authentication. `broker-a` has replicas 1 to 3; 1 is master, 1 and 2 are in sync and alive."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home = home / "home"
        self.address = free_address()
        settings = {
            "enableControllerInNamesrv": "true",
            "routebook.auth.file": identities_file(home / "ids.toml"),
            **controller_settings(self.address, home),
        }
        process = stack.enter_context(
            routebook_process(home, "serve", settings, "--listen", "127.0.0.1:0", "--http", "off")
        )
        process.wait_until_listening()
        self.nameserver = f"{process.host}:{process.port}"
        registered = stack.enter_context(Link((process.host, process.port)))
        broker = register(broker="broker-a", cluster="c1", addr="127.0.0.1:1", topics=[])
        assert registered.ask(signed(broker, "broker-a")).code == 0
        host, _, port = self.address.rpartition(":")
        link = stack.enter_context(Link((host, int(port))))

        def ask(code: int, body: bytes = b"", **ext: str) -> None:
            reply = link.ask(signed(Request(code=code, ext={**SET, **ext}, body=body), "broker-a"))
            assert reply.code == 0, reply

        for number in ("1", "2", "3"):
            ask(1013, appliedBrokerId=number, registerCheckCode=f"10.0.0.{number}:1;7")
        for number in ("1", "2"):
            ask(904, brokerId=number, heartbeatTimeoutMills="600000")
        ask(1002, brokerId="1")
        ask(1001, b'{"syncStateSet":[1,2],"syncStateSetEpoch":1}', masterBrokerId="1", masterEpoch="1")

    def run(self, *arguments: str, who: str | None = "ops-key") -> CommandResult:
        keys = {} if who is None else {"ROCKETMQ_ACCESS_KEY": who, "ROCKETMQ_SECRET_KEY": SECRETS[who]}
        return routebook(*arguments, environment=keys)

    def change(self, *arguments: str, who: str | None = "ops-key") -> CommandResult:
        return self.run("controller", *arguments, "--controller", self.address, who=who)


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Controller]:
    with ExitStack() as stack:
        yield Controller(tmp_path, stack)


def test_elect_shows_what_changes_and_then_does_it(controller: Controller) -> None:
    shown = controller.change("elect", "broker-a", "--id", "2")
    assert shown.code == 0, shown
    assert "1 at 10.0.0.1:1" in shown.out
    assert "nothing was changed: pass --apply" in shown.out
    dry = json.loads(controller.change("elect", "broker-a", "--id", "2", "--json").out)
    assert (dry["dry_run"], dry["done"]) == (True, False)
    done = json.loads(controller.change("elect", "broker-a", "--id", "2", "--apply", "--json").out)
    assert (done["dry_run"], done["done"], done["changes"]) == (False, True, dry["changes"])
    assert dry["changes"][0] == {
        "what": "master of broker-a",
        "before": "1 at 10.0.0.1:1",
        "after": "2 at 10.0.0.2:1",
    }
    again = controller.change("elect", "broker-a", "--id", "2", "--apply")
    assert (again.code, "still alive" in again.err) == (1, True)
    outside = controller.change("elect", "broker-a", "--id", "3")
    assert (outside.code, "Failed to elect a new master" in outside.err) == (1, True)
    eventually(lambda: len(events(controller.home, MasterElected)) == 2, "the election is recorded")
    _, chosen = events(controller.home, MasterElected)
    assert (chosen.cause, chosen.who, chosen.before_id, chosen.master_id) == ("operator", "ops", 1, 2)


def test_clean_spares_living_replicas(controller: Controller) -> None:
    clean = ("clean", "broker-a", "--cluster", "c1", "--json")
    refused = json.loads(controller.change(*clean, "--id", "2", "--apply").out)
    assert (refused["done"], refused["changes"]) == (False, [])
    assert "is still alive" in refused["notes"][0]
    dead = json.loads(controller.change(*clean, "--id", "3", "--apply").out)
    assert dead["changes"] == [{"what": "replica 3", "before": "10.0.0.3:1", "after": None}]
    living = json.loads(controller.change(*clean, "--id", "2", "--living", "--apply").out)
    assert {one["what"] for one in living["changes"]} == {"replica 2", "in-sync replicas"}
    whole = json.loads(controller.change(*clean, "--living", "--apply").out)
    assert whole["done"]
    gone = controller.change(*clean, "--living")
    assert (gone.code, json.loads(gone.out)["notes"]) == (
        1,
        ["Broker broker-a is not existed,clean broker data failure."],
    )
    eventually(lambda: len(events(controller.home, ReplicasCleaned)) == 3, "the removals are recorded")
    assert [one.broker_ids for one in events(controller.home, ReplicasCleaned)] == [(3,), (2,), (1,)]


def test_rights(controller: Controller) -> None:
    denied = controller.change("elect", "broker-a", "--id", "2", "--apply", who="client")
    assert denied.code != 0
    assert not denied.out
    assert controller.change("elect", "broker-a", "--id", "2", who=None).code != 0


def test_doctor_signs_its_requests(controller: Controller) -> None:
    found = json.loads(controller.run("doctor", "-n", controller.nameserver, "--json").out)
    texts = [finding["text"] for finding in found["findings"] if finding["check"] in ("controller", "sync")]
    assert texts == ["broker set broker-a: no heartbeat from id 3 at 10.0.0.3:1"]
