"""Recreates broker sets in a running, empty Java controller, by the requests of brokers: the way back from Routebook.

Java's controller has no import. A set gets its ids (1013), its epochs by elections that fail while the master is silent
(1002), and its in-sync replicas from the master (1001). No broker is notified, and Java does not elect when the
heartbeats of the export end.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from routebook.client.client import NameServerClient
from routebook.client.requests import Request, read_nothing, read_settings
from routebook.controller.codes import ControllerRequest, ControllerResponse
from routebook.controller.state import BrokerSet
from routebook.errors import StartError
from routebook.wire.command import Command

OpenClient: TypeAlias = Callable[[], NameServerClient]

_QUIET: Final = {"notifyBrokerRoleChanged": "false", "electMasterMaxRetryCount": "0"}
_ALIVE_MS: Final = 30_000
_SILENT_MS: Final = 1  # a broker with this timeout is dead a moment later, while its connection stays open
_MOMENT_S: Final = 0.005
_CLOSE_S: Final = 2.0  # until the target has seen the end of the connection


async def replay(open_target: OpenClient, sets: list[BrokerSet]) -> None:
    """Create the sets. Raises StartError if the target has one, or is not a Java controller."""
    async with open_target() as target:
        before = await target.ask(Request(ControllerRequest.GET_CONTROLLER_CONFIG, read_settings))
        await _configure(target, _QUIET)
        try:
            now = await target.ask(Request(ControllerRequest.GET_CONTROLLER_CONFIG, read_settings))
            if now["electMasterMaxRetryCount"] != "0":
                raise StartError("the target is not a Java controller: use `routebook controller import` there")
            for one in sets:
                await _Replay(target, one).run()
        except BaseException:  # cleans up and re-raises: the target gets its settings back
            await _configure(target, {key: before[key] for key in _QUIET})
            raise
    await asyncio.sleep(_CLOSE_S)
    async with open_target() as target:
        await _configure(target, {key: before[key] for key in _QUIET})


async def _configure(target: NameServerClient, values: dict[str, str]) -> None:
    body = "".join(f"{key}={value}\n" for key, value in values.items()).encode()
    await target.ask(Request(ControllerRequest.UPDATE_CONTROLLER_CONFIG, read_nothing, body=body))


class _Replay:
    """One set."""

    def __init__(self, target: NameServerClient, wanted: BrokerSet) -> None:
        self._target = target
        self._wanted = wanted
        self._names = {"clusterName": wanted.cluster, "brokerName": wanted.name}
        members = (wanted.master_id, *wanted.sync_state_set, *wanted.replicas)
        self._master = next(number for number in members if number is not None)

    async def run(self) -> None:
        wanted = self._wanted
        next_id = await self._ask(ControllerRequest.CONTROLLER_GET_NEXT_BROKER_ID)
        if next_id.field("nextBrokerId") != "1":
            raise StartError(f"{wanted.name} exists already in the target: export into an empty controller")
        for number in range(1, wanted.next_id):
            replica = wanted.replicas.get(number)
            address = "removed" if replica is None else replica.address
            applied = {"appliedBrokerId": str(number), "registerCheckCode": f"{address};exported"}
            await self._ask(ControllerRequest.CONTROLLER_APPLY_BROKER_ID, applied)
        epoch, sync_state_epoch = await self._elect()
        while epoch < wanted.master_epoch or sync_state_epoch < wanted.sync_state_epoch:
            await self._fail_to_elect()
            epoch, sync_state_epoch = await self._elect()
        await self._alter(epoch, sync_state_epoch)
        if wanted.retired:
            gone = ";".join(map(str, sorted(wanted.retired)))
            await self._ask(ControllerRequest.CLEAN_BROKER_DATA, {"brokerControllerIdsToClean": gone})

    async def _elect(self) -> tuple[int, int]:
        """Make the master the master; the epochs after it."""
        await self._beat(self._master, _ALIVE_MS)
        elected = await self._ask(ControllerRequest.CONTROLLER_ELECT_MASTER, {"brokerId": str(self._master)})
        return int(elected.field("masterEpoch") or 0), int(elected.field("syncStateSetEpoch") or 0)

    async def _fail_to_elect(self) -> None:
        """An election while the master is silent raises its epoch."""
        await self._beat(self._master, _SILENT_MS)
        elect = Command(ControllerRequest.CONTROLLER_ELECT_MASTER, 0, ext={**self._names, "brokerId": "-1"})
        while True:
            await asyncio.sleep(_MOMENT_S)
            answer = await self._target.call(elect)
            if answer.code != ControllerResponse.MASTER_STILL_EXIST:
                return

    async def _alter(self, epoch: int, sync_state_epoch: int) -> None:
        members = self._wanted.sync_state_set
        if not members or members == (self._master,):
            return
        for number in members:
            await self._beat(number, _ALIVE_MS)
        body = msgspec.json.encode({"syncStateSet": members, "syncStateSetEpoch": sync_state_epoch})
        fields = {"masterBrokerId": str(self._master), "masterEpoch": str(epoch)}
        await self._ask(ControllerRequest.CONTROLLER_ALTER_SYNC_STATE_SET, fields, body)

    async def _beat(self, number: int, timeout_ms: int) -> None:
        fields = {"brokerId": str(number), "heartbeatTimeoutMills": str(timeout_ms)}
        await self._ask(ControllerRequest.BROKER_HEARTBEAT, fields)

    async def _ask(self, code: int, fields: dict[str, str] | None = None, body: bytes | None = None) -> Command:
        return await self._target.ask(Request(code, lambda answer: answer, {**self._names, **(fields or {})}, body))
