"""`routebook brokers`: broker groups, their members and addresses."""

from routebook.cli.framework import broker_argument, command, option
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_table
from routebook.cli.suggestions import did_you_mean
from routebook.client.client import NameServerClient
from routebook.codes import MASTER_ID
from routebook.model import BrokerData


@command("brokers")
@broker_argument(metavar="[BROKER]", required=False, help="Only this broker.")
@option("--cluster", metavar="NAME", help="Only brokers of this cluster.")
@json_option
@nameserver_options
def brokers(*, name: str | None, cluster: str | None, as_json: bool, servers: NameServerOptions) -> int:
    """List brokers with their members; id 0 is the master.

    The exit code is 1 if the given broker or cluster is unknown.
    """
    info = servers.query(NameServerClient.cluster_info)
    groups = [
        data
        for data in sorted(info.broker_addr_table.values(), key=lambda data: (data.cluster, data.broker_name))
        if name in {None, data.broker_name} and cluster in {None, data.cluster}
    ]
    if as_json:
        print_json([_document(data) for data in groups])
    elif groups:
        _print(groups)
    if not groups and (name is not None or cluster is not None):
        given = [f"{what} {text}" for what, text in (("broker", name), ("cluster", cluster)) if text is not None]
        similar = "" if name is None else did_you_mean(name, info.broker_addr_table)
        print_error(f"unknown: {' in '.join(given)}{similar}")
        return EXIT_NO
    return EXIT_OK


def role(broker_id: int) -> str:
    """Return the role of the member with this id."""
    return "master" if broker_id == MASTER_ID else "slave"


def _document(data: BrokerData) -> dict[str, object]:
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
    has_zones = any(data.zone_name for data in groups)
    headings = ["CLUSTER", "BROKER", "ID", "ROLE", "ADDRESS", *(["ZONE"] if has_zones else [])]
    rows: list[list[object]] = []
    for data in groups:
        zone = [data.zone_name or "-"] if has_zones else []
        for number, addr in sorted(data.broker_addrs.items()):
            rows.append([data.cluster, data.broker_name, number, role(number), addr, *zone])
        if not data.broker_addrs:
            rows.append([data.cluster, data.broker_name, "-", "none", "-", *zone])
    print_table(headings, rows)
