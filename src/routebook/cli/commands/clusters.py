"""`routebook clusters`: clusters with their brokers."""

from routebook.cli.framework import command
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_OK, json_option, print_json, print_table
from routebook.client.client import NameServerClient
from routebook.codes import MASTER_ID
from routebook.model import ClusterInfo


@command("clusters")
@json_option
@nameserver_options
def clusters(*, as_json: bool, servers: NameServerOptions) -> int:
    """List clusters and their brokers."""
    info = servers.query(NameServerClient.cluster_info)
    rows = [_row(info, cluster, names) for cluster, names in sorted(info.cluster_addr_table.items())]
    if as_json:
        print_json(rows)
    elif rows:
        cells = [[", ".join(cell) or "-" if isinstance(cell, list) else cell for cell in row.values()] for row in rows]
        print_table(["CLUSTER", "BROKERS", "MEMBERS", "WITHOUT MASTER"], cells)
    return EXIT_OK


def _row(info: ClusterInfo, cluster: str, names: list[str]) -> dict[str, object]:
    known = {name: info.broker_addr_table[name] for name in sorted(names) if name in info.broker_addr_table}
    return {
        "cluster": cluster,
        "brokers": sorted(names),
        "members": sum(len(data.broker_addrs) for data in known.values()),
        "withoutMaster": [name for name, data in known.items() if MASTER_ID not in data.broker_addrs],
    }
