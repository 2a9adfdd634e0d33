"""`routebook topics`: which topics there are, one a line, or with where they live."""

from typing import Annotated

from routebook.cli.concurrency import Waiting, all_routes
from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, EXIT_NO, Json, complain, print_json, print_table, say
from routebook.cli.parameters import Option
from routebook.cli.permissions import permission_text
from routebook.client.client import NameServerClient
from routebook.errors import UsageError
from routebook.model import TopicRoute


def topics(
    *,
    servers: NameServers,
    cluster: Annotated[str | None, Option(("--cluster",), "Only those of this cluster.", "NAME")] = None,
    system: Annotated[bool, Option(("--system",), "The names of clusters and brokers, which are topics, too.")] = False,
    unit: Annotated[bool, Option(("--unit",), "Only unit topics.")] = False,
    unit_subscribed: Annotated[bool, Option(("--unit-subscribed",), "Only those that units subscribe to.")] = False,
    unit_subscribed_plain: Annotated[
        bool, Option(("--unit-subscribed-plain",), "Those that units subscribe to and that are no unit topics.")
    ] = False,
    long: Annotated[bool, Option(("-l", "--long"), "With clusters, brokers, queues and permissions.")] = False,
    as_json: Json = False,
) -> int:
    """Which topics there are. Exit code 1 where the cluster is not known."""
    kinds = {
        "--cluster": cluster is not None,
        "--system": system,
        "--unit": unit,
        "--unit-subscribed": unit_subscribed,
        "--unit-subscribed-plain": unit_subscribed_plain,
    }
    chosen = [name for name, given in kinds.items() if given]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)}: give one of them")
    names, routes = run(_ask(servers.client(), chosen[0] if chosen else None, cluster, long=long))
    if names is None:
        complain(f"no cluster {cluster} is known")
        return EXIT_NO
    if routes is not None:
        _print_long(routes, as_json=as_json)
    elif as_json:
        print_json(names)
    else:
        for name in names:
            say(name)
    return EXIT_FINE


async def _ask(
    client: NameServerClient, kind: str | None, cluster: str | None, *, long: bool
) -> tuple[list[str] | None, dict[str, TopicRoute] | None]:
    async with client:
        names = await _names(client, kind, cluster)
        if names is None or not long:
            return names, None
        with Waiting("routes") as waiting:
            return names, await all_routes(client, names, waiting=waiting)


async def _names(client: NameServerClient, kind: str | None, cluster: str | None) -> list[str] | None:
    match kind:
        case "--cluster":
            found = await client.topics_of_cluster(cluster or "")
            if not found and cluster not in (await client.cluster_info()).cluster_addr_table:
                return None
        case "--system":
            found = (await client.system_topics()).topic_list
        case "--unit":
            found = await client.unit_topics()
        case "--unit-subscribed":
            found = await client.unit_subscribed_topics()
        case "--unit-subscribed-plain":
            found = await client.unit_subscribed_plain_topics()
        case _:
            found = await client.topics()
    return sorted(set(found))


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
    cells = [[", ".join(cell) if isinstance(cell, list) else cell for cell in row.values()] for row in rows]
    print_table(["TOPIC", "CLUSTER", "BROKERS", "READ", "WRITE", "PERM"], cells)
