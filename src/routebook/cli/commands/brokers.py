"""`routebook brokers`: every broker group, its members and their addresses."""

from typing import Annotated

from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, EXIT_NO, Json, complain, print_json, print_table
from routebook.cli.parameters import Argument, Option
from routebook.client.client import NameServerClient
from routebook.codes import MASTER_ID
from routebook.model import BrokerData, ClusterInfo


def brokers(
    name: Annotated[str | None, Argument("[BROKER]", "Only this one; exit code 1 where it is not known.")] = None,
    *,
    servers: NameServers,
    cluster: Annotated[str | None, Option(("--cluster",), "Only those of this cluster.", "NAME")] = None,
    as_json: Json = False,
) -> int:
    """Which brokers there are, with their members: id 0 is the master."""
    groups = [
        data
        for data in in_order(run(_ask(servers.client())))
        if name in {None, data.broker_name} and cluster in {None, data.cluster}
    ]
    if as_json:
        print_json([_plain(data) for data in groups])
    elif groups:
        _print(groups)
    if not groups and (name is not None or cluster is not None):
        wanted = " ".join(f"{what} {given}" for what, given in (("broker", name), ("in cluster", cluster)) if given)
        complain(f"no {wanted} is known" if name is not None else f"no broker {wanted} is known")
        return EXIT_NO
    return EXIT_FINE


async def _ask(client: NameServerClient) -> ClusterInfo:
    async with client:
        return await client.cluster_info()


def in_order(info: ClusterInfo) -> list[BrokerData]:
    """All groups by cluster and name."""
    return sorted(info.broker_addr_table.values(), key=lambda data: (data.cluster, data.broker_name))


def role(broker_id: int) -> str:
    """What a member with this number is."""
    return "master" if broker_id == MASTER_ID else "slave"


def _plain(data: BrokerData) -> dict[str, object]:
    return {
        "cluster": data.cluster,
        "broker": data.broker_name,
        "zone": data.zone_name,
        "enableActingMaster": data.enable_acting_master,
        "members": [
            {"id": number, "role": role(number), "address": addr} for number, addr in sorted(data.broker_addrs.items())
        ],
    }


def _print(groups: list[BrokerData]) -> None:
    zones = any(data.zone_name for data in groups)
    headings = ["CLUSTER", "BROKER", "ID", "ROLE", "ADDRESS", *(["ZONE"] if zones else [])]
    rows: list[list[object]] = []
    for data in groups:
        zone = [data.zone_name or "-"] if zones else []
        for number, addr in sorted(data.broker_addrs.items()):
            rows.append([data.cluster, data.broker_name, number, role(number), addr, *zone])
        if not data.broker_addrs:
            rows.append([data.cluster, data.broker_name, "-", "none", "-", *zone])
    print_table(headings, rows)
