"""`routebook topics`: topic names, one per line, or a table with their brokers."""

from collections.abc import Iterator
from typing import Final

from routebook.cli.concurrency import ProgressBar, all_routes
from routebook.cli.framework import command, flag, option
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_line, print_table
from routebook.cli.permissions import permission_text
from routebook.client.client import NameServerClient
from routebook.errors import UsageError
from routebook.model import TopicRoute

_DIGITS: Final = "0123456789"
_MAX_DIGITS: Final = 18  # a longer number is part of the name
_MIN_RUN: Final = 4  # shorter lists are printed in full
_LISTS: Final = {
    "--unit": NameServerClient.unit_topics,
    "--unit-subscribed": NameServerClient.unit_subscribed_topics,
    "--unit-subscribed-plain": NameServerClient.unit_subscribed_plain_topics,
}


@command("topics")
@option("--cluster", metavar="NAME", help="Only topics of this cluster.")
@flag("--system", help="Only system topics: the names of clusters and brokers.")
@flag("--unit", help="Only unit topics.")
@flag("--unit-subscribed", help="Only topics that units subscribe to.")
@flag("--unit-subscribed-plain", help="Only topics that units subscribe to and that are not unit topics.")
@flag("-l", "--long", "is_long", help="Show clusters, brokers, queues and permissions.")
@json_option
@nameserver_options
def topics(
    *,
    cluster: str | None,
    system: bool,
    unit: bool,
    unit_subscribed: bool,
    unit_subscribed_plain: bool,
    is_long: bool,
    as_json: bool,
    servers: NameServerOptions,
) -> int:
    """List topics.

    The exit code is 1 if the cluster is unknown.
    """
    filters = {
        "--cluster": cluster is not None,
        "--system": system,
        "--unit": unit,
        "--unit-subscribed": unit_subscribed,
        "--unit-subscribed-plain": unit_subscribed_plain,
    }
    chosen = [name for name, is_given in filters.items() if is_given]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} cannot be combined")
    kind = "".join(chosen)

    async def ask(client: NameServerClient) -> tuple[list[str] | None, dict[str, TopicRoute] | None]:
        names = await _names(client, kind, cluster)
        if names is None or not is_long:
            return names, None
        with ProgressBar("routes") as progress:
            return names, await all_routes(client, names, progress=progress)

    names, routes = servers.query(ask)
    if names is None:
        print_error(f"cluster {cluster} is unknown")
        return EXIT_NO
    if routes is not None:
        _print_long(routes, as_json=as_json)
    elif as_json:
        print_json(names)
    else:
        for name in names:
            print_line(name)
    return EXIT_OK


async def _names(client: NameServerClient, kind: str, cluster: str | None) -> list[str] | None:
    if cluster is not None:
        found = await client.topics_of_cluster(cluster)
        if not found and cluster not in (await client.cluster_info()).cluster_addr_table:
            return None
    elif kind == "--system":
        found = (await client.system_topics()).topic_list
    else:
        found = await _LISTS.get(kind, NameServerClient.topics)(client)
    return sorted(set(found))


def brokers_text(names: list[str]) -> str:
    """Sorted names as a short text: numbered names become ranges, `b-[01-08,10-24]`."""
    groups: dict[tuple[str, int], list[int]] = {}
    for name in names:
        stem = name.rstrip(_DIGITS) if name[-_MAX_DIGITS:].rstrip(_DIGITS) else name
        groups.setdefault((stem, len(name) - len(stem)), []).append(int(name[len(stem) :] or 0))
    parts = []
    for (stem, width), numbers in sorted(groups.items()):
        if width and len(numbers) >= _MIN_RUN:
            parts.append(f"{stem}[{','.join(_ranges(sorted(numbers), width))}]")
        else:
            parts += [f"{stem}{number:0{width}}" if width else stem for number in sorted(numbers)]
    return ", ".join(parts) + (f" ({len(names)})" if len(names) >= _MIN_RUN else "")


def _ranges(numbers: list[int], width: int) -> Iterator[str]:
    """`01-08`, `10` for consecutive numbers and a single one."""
    first = 0
    for at, number in enumerate(numbers):
        if at + 1 == len(numbers) or numbers[at + 1] != number + 1:
            yield f"{number:0{width}}" if first == at else f"{numbers[first]:0{width}}-{number:0{width}}"
            first = at + 1


def _cell(key: str, value: object) -> object:
    if not isinstance(value, list):
        return value
    return brokers_text(value) if key == "brokers" else ", ".join(value)


def _print_long(routes: dict[str, TopicRoute], *, as_json: bool) -> None:
    rows = [
        {
            "topic": topic,
            "clusters": sorted({data.cluster for data in route.broker_datas}),
            "brokers": sorted(data.broker_name for data in route.queue_datas),
            "readQueues": sum(data.read_queue_nums for data in route.queue_datas),
            "writeQueues": sum(data.write_queue_nums for data in route.queue_datas),
            "permissions": sorted({permission_text(data.perm) for data in route.queue_datas}),
        }
        for topic, route in routes.items()
    ]
    if as_json:
        print_json(rows)
        return
    cells = [[_cell(key, value) for key, value in row.items()] for row in rows]
    print_table(["TOPIC", "CLUSTER", "BROKERS", "READ", "WRITE", "PERM"], cells)
