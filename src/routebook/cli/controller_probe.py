"""Probes of Controllers over TCP, for `doctor`."""

import asyncio
import json
import ssl
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from routebook.client.addresses import Address, parse_address
from routebook.client.dial import open_link
from routebook.codes import ResponseCode
from routebook.controller.codes import ControllerRequest
from routebook.disagreements import View
from routebook.doctor.observation import ObservedController, ObservedReplica, ObservedSet
from routebook.errors import ConnectionFailed, UsageError
from routebook.wire.command import Command


class _Replica(msgspec.Struct, rename="camel"):
    broker_id: int
    broker_address: str = ""
    alive: bool = False


class _Set(msgspec.Struct, rename="camel"):
    in_sync_replicas: list[_Replica] = []
    not_in_sync_replicas: list[_Replica] = []
    master_broker_id: int | None = None


class _Table(msgspec.Struct, rename="camel"):
    replicas_info_table: dict[str, _Set] = {}


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
    addresses: Sequence[Address], names: Sequence[str], *, timeout_s: float, tls: ssl.SSLContext | None
) -> tuple[list[ObservedController], list[ObservedSet]]:
    """What each node answers, and the sets with these names as the leader has them."""
    seen = await asyncio.gather(*(_probe(address, timeout_s, tls) for address in addresses))
    leader = next((one.leader for one in seen if one.leader is not None), None)
    if leader is None or not names:
        return list(seen), []
    body = json.dumps(list(names)).encode()
    try:
        answer = await _ask(
            parse_address(leader), ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA, body, timeout_s, tls
        )
        table = msgspec.json.decode(answer.body or b"{}", type=_Table).replicas_info_table
    except (ConnectionFailed, TimeoutError, UsageError, msgspec.DecodeError):
        return list(seen), []  # the probe of the leader shows why
    return list(seen), [_set(name, found) for name, found in sorted(table.items())]


async def _probe(address: Address, timeout_s: float, tls: ssl.SSLContext | None) -> ObservedController:
    who = str(address)
    try:
        answer = await _ask(address, ControllerRequest.CONTROLLER_GET_METADATA_INFO, None, timeout_s, tls)
    except ConnectionFailed as failure:
        return ObservedController(who=who, failure=failure.why)
    except TimeoutError:
        return ObservedController(who=who, failure=f"did not answer within {timeout_s:g} s")
    if answer.code != ResponseCode.SUCCESS:
        return ObservedController(who=who, failure=f"answered {answer.code}: {answer.remark}")
    peers = (part.partition(":")[2] for part in (answer.field("peers") or "").split(";") if part)
    return ObservedController(who=who, leader=answer.field("controllerLeaderAddress"), peers=tuple(sorted(peers)))


async def _ask(
    address: Address, code: int, body: bytes | None, timeout_s: float, tls: ssl.SSLContext | None
) -> Command:
    link = await open_link(address, connect_timeout_s=timeout_s, tls=tls)
    try:
        async with asyncio.timeout(timeout_s):
            return await link.ask(Command(code=code, opaque=1, language="PYTHON", body=body))
    finally:
        await link.aclose()


def _set(name: str, found: Any) -> ObservedSet:
    replicas = [(row, True) for row in found.in_sync_replicas] + [(row, False) for row in found.not_in_sync_replicas]
    return ObservedSet(
        name=name,
        master_id=found.master_broker_id,
        replicas=tuple(
            ObservedReplica(id=row.broker_id, addr=row.broker_address, alive=row.alive, in_sync=in_sync)
            for row, in_sync in replicas
        ),
    )
