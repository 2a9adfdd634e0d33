"""Finds and questions Controllers over TCP, for `doctor` and for commands that change a set."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from routebook.client.addresses import Address, parse_address
from routebook.client.client import NameServerClient
from routebook.client.requests import Request
from routebook.codes import ResponseCode
from routebook.controller.codes import ControllerRequest
from routebook.controller.replicas_info import SetInfo, decode_replicas_info
from routebook.disagreements import View
from routebook.doctor.observation import ObservedController, ObservedReplica, ObservedSet
from routebook.errors import ConnectionFailed, ProtocolError, RoutebookError, UsageError
from routebook.wire.command import Command

ClientOf: TypeAlias = Callable[[str], NameServerClient]  # with TLS and credentials


def configured_controllers(views: Iterable[View]) -> list[Address]:
    """The Controllers in the settings of NameServers that contain one."""
    found: dict[str, Address] = {}
    for view in views:
        settings = view.settings or {}
        if settings.get("enableControllerInNamesrv") == "true":
            for part in settings.get("controllerDLegerPeers", "").split(";"):
                try:
                    address = parse_address(part.strip().partition("-")[2])
                except UsageError:
                    continue
                found[str(address)] = address
    return list(found.values())


async def probe_controllers(
    addresses: Sequence[Address], names: Sequence[str], client_of: ClientOf
) -> tuple[list[ObservedController], list[ObservedSet]]:
    """What each node answers, and the sets with these names as the leader has them."""
    seen = await asyncio.gather(*(_probe(str(address), client_of) for address in addresses))
    leader = next((one.leader for one in seen if one.leader is not None), None)
    if leader is None or not names:
        return list(seen), []
    try:
        async with client_of(leader) as client:
            table = await read_sets(client, names)
    except RoutebookError:
        return list(seen), []  # the probe of the leader shows why
    return list(seen), [_set(name, found) for name, found in sorted(table.items())]


async def find_leader(addresses: str, client_of: ClientOf) -> str:
    """The address of the leader. Raises ConnectionFailed or UsageError."""
    async with client_of(addresses) as client:
        answer = await client.ask(Request(ControllerRequest.CONTROLLER_GET_METADATA_INFO, lambda answer: answer))
    leader = answer.field("controllerLeaderAddress")
    if leader is None:
        raise UsageError(f"no Controller leads at {addresses}; try again, or run `routebook doctor`")
    return leader


async def read_sets(leader: NameServerClient, names: Sequence[str]) -> dict[str, SetInfo]:
    """1006: the sets with these names. Raises RequestError and ConnectionFailed."""

    def read(answer: Command) -> dict[str, SetInfo]:
        try:
            return decode_replicas_info(answer.body)
        except msgspec.DecodeError as error:
            raise ProtocolError(f"not the body of 1006: {error}") from None

    code = ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA
    return await leader.ask(Request(code, read, body=msgspec.json.encode(list(names))))


async def _probe(who: str, client_of: ClientOf) -> ObservedController:
    try:
        async with client_of(who) as client:
            answer = await client.call(Command(ControllerRequest.CONTROLLER_GET_METADATA_INFO, 0, language="PYTHON"))
    except ConnectionFailed as failure:
        return ObservedController(who=who, failure=failure.why)
    if answer.code != ResponseCode.SUCCESS:
        return ObservedController(who=who, failure=f"answered {answer.code}: {answer.remark}")
    peers = (part.partition(":")[2] for part in (answer.field("peers") or "").split(";") if part)
    return ObservedController(who=who, leader=answer.field("controllerLeaderAddress"), peers=tuple(sorted(peers)))


def _set(name: str, found: SetInfo) -> ObservedSet:
    inside = {row.broker_id for row in found.in_sync_replicas}
    return ObservedSet(
        name=name,
        master_id=found.master_broker_id,
        replicas=tuple(
            ObservedReplica(id=row.broker_id, addr=row.broker_address, alive=row.alive, in_sync=row.broker_id in inside)
            for row in [*found.in_sync_replicas, *found.not_in_sync_replicas]
        ),
    )
