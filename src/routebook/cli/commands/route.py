"""`routebook route TOPIC`: the brokers that carry it, with their queues, permissions and addresses."""

from typing import Annotated

import msgspec

from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, Json, print_json, print_table, say
from routebook.cli.parameters import Argument, Option
from routebook.cli.permissions import permission_text
from routebook.client.client import NameServerClient
from routebook.codes import MASTER_ID
from routebook.errors import MalformedRoute
from routebook.model import BrokerData, TopicRoute


class _RouteOf(TopicRoute, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """What is printed for machines: RocketMQ's own TopicRouteData, and the topic's name."""

    topic: str


def route(
    topic: Annotated[str, Argument("TOPIC", "The topic's name.")],
    *,
    servers: NameServers,
    zone: Annotated[str | None, Option(("--zone",), "As a client in this zone sees it.", "ZONE")] = None,
    queues: Annotated[
        bool, Option(("--queues",), "Also the queues that producers and consumers derive from it.")
    ] = False,
    as_json: Json = False,
) -> int:
    """Where a topic lives: its brokers, queues, permissions and addresses. Exit code 1 where it lives nowhere."""
    found = run(_ask(servers.client(), topic, zone))
    if as_json:
        print_json(_RouteOf(topic=topic, **msgspec.structs.asdict(found)))
        return EXIT_FINE
    _print_brokers(found)
    if found.order_topic_conf:
        say(f"ordered: {found.order_topic_conf}")
    for address, filters in sorted(found.filter_server_table.items()):
        if filters:
            say(f"filter servers of {address}: {', '.join(filters)}")
    for name, mapping in sorted((found.topic_queue_mapping_by_broker or {}).items()):
        pairs = ", ".join(
            f"{logical} on {physical}" for logical, physical in sorted((mapping.curr_id_map or {}).items())
        )
        say(f"static: {name} hosts {pairs or 'none'} of {mapping.total_queues} logical queues, epoch {mapping.epoch}")
    if queues:
        _print_queues(topic, found)
    return EXIT_FINE


async def _ask(client: NameServerClient, topic: str, zone: str | None) -> TopicRoute:
    async with client:
        return in_order(await client.route(topic, zone=zone))


def in_order(route: TopicRoute) -> TopicRoute:
    """Java lists in the order of a hash table: by name here, so that two answers can be compared by eye."""
    return msgspec.structs.replace(
        route,
        broker_datas=sorted(
            (
                msgspec.structs.replace(data, broker_addrs=dict(sorted(data.broker_addrs.items())))
                for data in route.broker_datas
            ),
            key=lambda data: data.broker_name,
        ),
        queue_datas=sorted(route.queue_datas, key=lambda data: data.broker_name),
        filter_server_table=dict(sorted(route.filter_server_table.items())),
    )


def addresses_text(data: BrokerData) -> str:
    """`0=10.0.0.1:10911 1=10.0.0.2:10911`: 0 is the master."""
    return " ".join(f"{number}={addr}" for number, addr in sorted(data.broker_addrs.items()))


def _print_brokers(route: TopicRoute) -> None:
    queues = {data.broker_name: data for data in route.queue_datas}
    brokers = {data.broker_name: data for data in route.broker_datas}
    rows: list[list[object]] = []
    for name in sorted({*queues, *brokers}):
        queue, broker = queues.get(name), brokers.get(name)
        rows.append(
            [
                name,
                broker.cluster if broker is not None else "?",
                permission_text(queue.perm) if queue is not None else "?",
                queue.read_queue_nums if queue is not None else 0,
                queue.write_queue_nums if queue is not None else 0,
                _members(broker),
            ]
        )
    print_table(["BROKER", "CLUSTER", "PERM", "READ", "WRITE", "ADDRESSES"], rows)


def _members(broker: BrokerData | None) -> str:
    if broker is None or not broker.broker_addrs:
        return "none"
    text = addresses_text(broker)
    return text if MASTER_ID in broker.broker_addrs else f"{text} (no master)"


def _print_queues(topic: str, route: TopicRoute) -> None:
    from routebook.client.queues import publish_queues, subscribe_queues

    try:
        published = publish_queues(topic, route)
    except MalformedRoute as error:
        say(f"publish: no client can: {error}")
    else:
        text = ", ".join(f"{queue.broker}/{queue.queue_id}" for queue in published.queues)
        say(f"publish: {len(published.queues)}{' ordered' if published.ordered else ''} queues: {text or 'none'}")
    subscribed = sorted(subscribe_queues(topic, route))
    text = ", ".join(f"{queue.broker}/{queue.queue_id}" for queue in subscribed)
    say(f"subscribe: {len(subscribed)} queues: {text or 'none'}")
