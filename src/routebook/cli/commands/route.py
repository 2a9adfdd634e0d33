"""`routebook route TOPIC`: the brokers that carry a topic, with queues, permissions and addresses."""

import msgspec

from routebook.cli.framework import command, flag, option, topic_argument
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_OK, json_option, print_json, print_line, print_table
from routebook.cli.permissions import permission_text
from routebook.cli.unknown_names import with_similar_topics
from routebook.client.client import NameServerClient
from routebook.codes import MASTER_ID
from routebook.errors import MalformedRoute, TopicNotExist
from routebook.model import BrokerData, TopicRoute


class _RouteOfTopic(TopicRoute, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """The JSON output: RocketMQ's TopicRouteData with the topic's name."""

    topic: str


@command("route")
@topic_argument(help="Name of the topic.")
@option("--zone", metavar="ZONE", help="Show the route as a client in this zone receives it.")
@flag("--queues", help="Also show the queues that producers and consumers derive from the route.")
@json_option
@nameserver_options
def route(*, topic: str, zone: str | None, queues: bool, as_json: bool, servers: NameServerOptions) -> int:
    """Show the route of a topic: its brokers, queues, permissions and addresses.

    The exit code is 1 if the topic has no route.
    """
    found = sort_route(servers.query(lambda client: _route(client, topic, zone)))
    if as_json:
        print_json(_RouteOfTopic(topic=topic, **msgspec.structs.asdict(found)))
        return EXIT_OK
    _print_brokers(found)
    if found.order_topic_conf:
        print_line(f"ordered: {found.order_topic_conf}")
    for address, filters in sorted(found.filter_server_table.items()):
        if filters:
            print_line(f"filter servers of {address}: {', '.join(filters)}")
    for name, mapping in sorted((found.topic_queue_mapping_by_broker or {}).items()):
        pairs = ", ".join(
            f"{logical} on {physical}" for logical, physical in sorted((mapping.curr_id_map or {}).items())
        )
        queues_text = f"{pairs or 'none'} of {mapping.total_queues} logical queues"
        print_line(f"static: {name} hosts {queues_text}, epoch {mapping.epoch}")
    if queues:
        _print_queues(topic, found)
    return EXIT_OK


async def _route(client: NameServerClient, topic: str, zone: str | None) -> TopicRoute:
    try:
        return await client.route(topic, zone=zone)
    except TopicNotExist as error:
        raise await with_similar_topics(client, error, topic) from None


def sort_route(route: TopicRoute) -> TopicRoute:
    """Sort by name: Java lists in hash order, which makes two routes hard to compare by eye."""
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
    text = " ".join(f"{number}={addr}" for number, addr in sorted(broker.broker_addrs.items()))
    return text if MASTER_ID in broker.broker_addrs else f"{text} (no master)"


def _print_queues(topic: str, route: TopicRoute) -> None:
    from routebook.client.queues import publish_queues, subscribe_queues

    try:
        published = publish_queues(topic, route)
    except MalformedRoute as error:
        print_line(f"publish: clients reject the route: {error}")
    else:
        text = ", ".join(f"{queue.broker}/{queue.queue_id}" for queue in published.queues)
        ordered = " ordered" if published.ordered else ""
        print_line(f"publish: {len(published.queues)}{ordered} queues: {text or 'none'}")
    subscribed = sorted(subscribe_queues(topic, route))
    text = ", ".join(f"{queue.broker}/{queue.queue_id}" for queue in subscribed)
    print_line(f"subscribe: {len(subscribed)} queues: {text or 'none'}")
