"""Imports broker sets from a running Controller, Java's or Routebook's, into the log of one that does not run yet.

Brokers keep their ids and roles. Both epochs are raised, so that brokers accept the imported state even if the former
Controller has elected or changed a sync-state set since the import.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

import msgspec

from routebook.client.client import NameServerClient
from routebook.client.requests import Request
from routebook.controller.codes import ControllerRequest
from routebook.controller.replicas_info import SetInfo, decode_replicas_info
from routebook.controller.state import BrokerSet, IdApplied
from routebook.errors import StartError
from routebook.server.controller.log import Log, LogListener

MASTER_EPOCHS: Final = 10
SYNC_STATE_EPOCHS: Final = 100
LEADER_TIMEOUT_S: Final = 30.0


async def fetch(controller: NameServerClient, nameserver: NameServerClient) -> list[BrokerSet]:
    """All sets that the NameServer knows, as the Controller has them. `controller` must be the leader."""
    info = await nameserver.cluster_info()
    clusters = {name: data.cluster for name, data in info.broker_addr_table.items()}
    if not clusters:
        return []
    code = ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA
    body = msgspec.json.encode(sorted(clusters))
    table = await controller.ask(Request(code, lambda answer: decode_replicas_info(answer.body), body=body))
    found = []
    for name, info_of_set in sorted(table.items()):
        names = {"clusterName": clusters[name], "brokerName": name}
        code = ControllerRequest.CONTROLLER_GET_NEXT_BROKER_ID
        next_id = await controller.ask(Request(code, lambda answer: int(answer.field("nextBrokerId") or 1), names))
        found.append(_broker_set(name, clusters[name], info_of_set, next_id))
    return found


def _broker_set(name: str, cluster: str, info: SetInfo, next_id: int) -> BrokerSet:
    found = info.state(name, cluster, check_code="imported")
    return msgspec.structs.replace(
        found,
        retired=frozenset(range(1, next_id)) - found.replicas.keys(),
        master_epoch=found.master_epoch + MASTER_EPOCHS,
        sync_state_epoch=found.sync_state_epoch + SYNC_STATE_EPOCHS,
    )


async def store(log: Log, sets: list[BrokerSet]) -> None:
    """Commit the sets. Raises StartError if one exists, LogError if the log cannot be written."""
    known: set[str] = set()
    leading = asyncio.Event()

    def take_sets(found: Mapping[str, BrokerSet]) -> None:
        known.update(found)

    listener = LogListener(take_sets, lambda _name, _state: None, lambda leads: leading.set() if leads else None)
    await log.start(listener)
    try:
        async with asyncio.timeout(LEADER_TIMEOUT_S):
            await leading.wait()
        existing = sorted(known & {one.name for one in sets})
        if existing:
            raise StartError(f"the sets {', '.join(existing)} exist already: import into an empty Controller")
        for one in sets:
            number, replica = next(iter(one.replicas.items()))
            event = IdApplied(one.cluster, one.name, number, replica.address, replica.check_code)
            await log.commit(event, one)
    except TimeoutError:
        raise StartError("another Controller node leads: stop all nodes before the import") from None
    finally:
        await log.stop()
