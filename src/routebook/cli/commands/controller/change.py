"""`routebook controller elect|clean`: choose a master, or remove replicas, with a preview.

The preview is the decision of Routebook's Controller on the state that the leader reports, so it is also correct for a
Java controller, but for the defects that docs/compatibility.md lists.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import msgspec

from routebook.cli.controller_probe import find_leader, read_sets
from routebook.cli.framework import argument, command, flag, option
from routebook.cli.nameservers import ConnectionOptions, connection_options
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_line, print_table
from routebook.client.client import NameServerClient
from routebook.client.requests import Request
from routebook.codes import ResponseCode
from routebook.controller.codes import ControllerRequest
from routebook.controller.liveness import BrokerId, Heartbeat
from routebook.controller.machine import Machine
from routebook.controller.preview import Difference, preview
from routebook.controller.replicas_info import SetInfo
from routebook.wire.command import Command


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What the command would change, or has changed; the HTTP API answers in the same form."""

    action: str
    dry_run: bool
    done: bool
    changes: list[Difference]
    notes: list[str]


def _common(function: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in (
        connection_options,
        json_option,
        flag("--apply", help="Perform the change; without this option the command only shows it."),
        option("--controller", required=True, metavar="LIST", help="Controllers as HOST:PORT;HOST:PORT."),
        argument("broker", help="Name of the set."),
    ):
        function = decorate(function)
    return function


@command("elect")
@_common
@option("--id", "broker_id", type=int, required=True, metavar="ID", help="The replica that is to become master.")
def elect(
    *, broker: str, broker_id: int, controller: str, apply: bool, as_json: bool, connection: ConnectionOptions
) -> int:
    """Show what changes if a replica becomes the master of its set, and with --apply, make it so.

    The same as request 1002 with designateElect, mqadmin electMaster. The exit code is 1 if nothing changes.
    """
    fields = {"brokerName": broker, "brokerId": str(broker_id), "designateElect": "true"}
    request = Command(ControllerRequest.CONTROLLER_ELECT_MASTER, 0, ext={**fields})
    return _change("elect master", request, controller, connection, apply=apply, as_json=as_json)


@command("clean")
@_common
@option("--cluster", required=True, metavar="NAME", help="Cluster of the set.")
@option("--id", "broker_ids", type=int, multiple=True, metavar="ID", help="A replica to remove, repeatable [the set].")
@flag("--living", help="Also remove replicas that are alive.")
def clean(
    *,
    broker: str,
    cluster: str,
    broker_ids: tuple[int, ...],
    living: bool,
    controller: str,
    apply: bool,
    as_json: bool,
    connection: ConnectionOptions,
) -> int:
    """Show what changes if replicas are removed from the Controller, and with --apply, remove them.

    The same as request 1011, mqadmin cleanBrokerMetadata. The exit code is 1 if nothing changes.
    """
    fields = {
        "clusterName": cluster,
        "brokerName": broker,
        "brokerControllerIdsToClean": ";".join(map(str, broker_ids)),
        "isCleanLivingBroker": "true" if living else "false",
    }
    request = Command(ControllerRequest.CLEAN_BROKER_DATA, 0, ext={**fields})
    return _change("clean replicas", request, controller, connection, apply=apply, as_json=as_json)


def _change(
    action: str, request: Command, controller: str, connection: ConnectionOptions, *, apply: bool, as_json: bool
) -> int:
    async def work() -> Outcome:
        leader = await find_leader(controller, connection.client_of)
        async with connection.client_of(leader) as client:
            name = request.field("brokerName") or ""
            machine = _machine((await read_sets(client, [name])).get(name), name, request.field("clusterName") or "")
            changes, notes = preview(
                machine, machine.read(request), now_ms=_now_ms(), allow_unclean=await _allows_unclean(client)
            )
            if apply and changes:
                fields = {key: value for key, value in (request.ext or {}).items() if value is not None}
                await client.ask(Request(request.code, lambda _answer: None, fields))
        done = apply and bool(changes)
        return Outcome(action=action, dry_run=not apply, done=done, changes=changes, notes=notes)

    outcome = asyncio.run(work())
    if as_json:
        print_json(outcome)
    else:
        _print(outcome)
    return EXIT_OK if outcome.changes else EXIT_NO


def _print(outcome: Outcome) -> None:
    if outcome.changes:
        rows = [[one.what, one.before or "-", one.after or "-"] for one in outcome.changes]
        print_table(["WHAT", "BEFORE", "AFTER"], rows)
    for note in outcome.notes:
        (print_line if outcome.changes else print_error)(note)
    if outcome.changes:
        print_line("done" if outcome.done else "nothing was changed: pass --apply to do it")


def _machine(found: SetInfo | None, name: str, cluster: str) -> Machine:
    """A Controller's memory as 1006 describes it: the set, and which of its replicas are alive."""
    if found is None:
        return Machine()
    machine = Machine({name: found.state(name, cluster)})
    for row in found.replicas:
        if row.alive:
            beat = Heartbeat(broker=BrokerId(cluster, name, row.broker_id))
            machine.live.heartbeat(beat, connection=row.broker_id, now_ms=_now_ms())
    return machine


async def _allows_unclean(leader: NameServerClient) -> bool:
    """Whether a replica out of sync can be elected; an identity that may not read the settings sees the default."""
    answer = await leader.call(Command(ControllerRequest.GET_CONTROLLER_CONFIG, 0, language="PYTHON"))
    lines = (answer.body or b"").decode("utf-8", "replace").splitlines()
    return answer.code == ResponseCode.SUCCESS and "enableElectUncleanMaster=true" in lines


def _now_ms() -> int:
    return time.monotonic_ns() // 1_000_000
