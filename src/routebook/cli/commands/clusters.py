"""`routebook clusters`: every cluster with its brokers."""

from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, Json, print_json, print_table
from routebook.client.client import NameServerClient
from routebook.codes import MASTER_ID
from routebook.model import ClusterInfo


def clusters(*, servers: NameServers, as_json: Json = False) -> int:
    """Which clusters there are, and their brokers."""
    info = run(_ask(servers.client()))
    rows = [_row(info, cluster, names) for cluster, names in sorted(info.cluster_addr_table.items())]
    if as_json:
        print_json(rows)
    elif rows:
        cells = [[", ".join(cell) or "-" if isinstance(cell, list) else cell for cell in row.values()] for row in rows]
        print_table(["CLUSTER", "BROKERS", "MEMBERS", "WITHOUT MASTER"], cells)
    return EXIT_FINE


async def _ask(client: NameServerClient) -> ClusterInfo:
    async with client:
        return await client.cluster_info()


def _row(info: ClusterInfo, cluster: str, names: list[str]) -> dict[str, object]:
    known = {name: info.broker_addr_table[name] for name in sorted(names) if name in info.broker_addr_table}
    return {
        "cluster": cluster,
        "brokers": sorted(names),
        "members": sum(len(data.broker_addrs) for data in known.values()),
        "withoutMaster": [name for name, data in known.items() if MASTER_ID not in data.broker_addrs],
    }
