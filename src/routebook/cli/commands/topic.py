"""`routebook topic delete|register|order`: one topic."""

from routebook.cli.all_nameservers import change_on_all, rejection
from routebook.cli.framework import Group, argument, flag, option, topic_argument
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_OK, json_option, print_json, print_line
from routebook.cli.permissions import parse_permission
from routebook.client.client import OneNameServer
from routebook.codes import ORDER_TOPIC_NAMESPACE
from routebook.errors import MalformedRoute, TopicNotExist, UsageError
from routebook.model import QueueData, TopicRoute

topic = Group("topic", help="Delete or register a topic, or set its order.")

_name = topic_argument("name", metavar="TOPIC", help="Name of the topic.")


@topic.command("delete")
@_name
@option("--cluster", metavar="NAME", help="Only in this cluster.")
@json_option
@nameserver_options
def delete(*, name: str, cluster: str | None, as_json: bool, servers: NameServerOptions) -> int:
    """Delete a topic on every NameServer.

    A broker that still has the topic registers it again: delete it on the broker first.
    """

    async def do(server: OneNameServer) -> str:
        before = await _route(server, name)
        await server.delete_topic(name, cluster=cluster)
        after = await _route(server, name)
        if before is None:
            return f"{name} does not exist"
        if after is None:
            return f"{name} is deleted"
        left = ", ".join(sorted(data.broker_name for data in after.queue_datas))
        if cluster is not None and len(after.queue_datas) < len(before.queue_datas):
            return f"{name} is deleted in cluster {cluster}; it remains on {left}"
        raise rejection(server, f"{name} remains on {left}" + (f", outside cluster {cluster}" if cluster else ""))

    return change_on_all(servers, do, as_json=as_json)


@topic.command("register")
@_name
@option("--broker", "brokers", metavar="NAME", multiple=True, required=True, help="A broker of the topic; repeatable.")
@option("--read", type=int, default=8, metavar="QUEUES", help="Number of read queues [8].")
@option("--write", type=int, default=8, metavar="QUEUES", help="Number of write queues [8].")
@option("--perm", default="rw", metavar="PERM", help="Permission: rw, r or w [rw].")
@json_option
@nameserver_options
def register(
    *,
    name: str,
    brokers: tuple[str, ...],
    read: int,
    write: int,
    perm: str,
    as_json: bool,
    servers: NameServerOptions,
) -> int:
    """Register a topic of registered brokers on every NameServer.

    This does not create the topic on the brokers.
    """
    permission = parse_permission(perm)
    queues = [
        QueueData(broker_name=one, perm=permission, read_queue_nums=read, topic_sys_flag=0, write_queue_nums=write)
        for one in dict.fromkeys(brokers)
    ]

    async def do(server: OneNameServer) -> str:
        known = (await server.cluster_info()).broker_addr_table
        unknown = [queue.broker_name for queue in queues if queue.broker_name not in known]
        if unknown:  # a NameServer responds with success and does nothing
            raise rejection(server, f"{name} is not registered: unknown broker {', '.join(unknown)}")
        await server.register_topic(name, queues)
        route = await _route(server, name)
        found = sorted(data.broker_name for data in route.queue_datas) if route is not None else []
        return f"{name} is on {', '.join(found) or 'no broker'}"

    return change_on_all(servers, do, as_json=as_json)


@topic.command("order")
@_name
@argument("conf", metavar="[BROKER:QUEUES;...]", required=False, help="The order to set, such as b-a:4;b-b:4.")
@flag("--delete", "is_delete", help="Delete the order.")
@json_option
@nameserver_options
def order(*, name: str, conf: str | None, is_delete: bool, as_json: bool, servers: NameServerOptions) -> int:
    """Show, set or delete the order configuration of a topic.

    Routes include it if orderMessageEnable is true.
    """
    if is_delete:
        if conf is not None:
            raise UsageError("--delete cannot be combined with an order")
    elif conf is None:
        return _show_order(name, servers, as_json=as_json)
    else:
        _check_order(name, conf)

    async def do(server: OneNameServer) -> str:
        if conf is None:
            await server.delete_kv(ORDER_TOPIC_NAMESPACE, name)
            return f"{name} has no order"
        await server.put_kv(ORDER_TOPIC_NAMESPACE, name, conf)
        return f"the order of {name} is {conf}"

    return change_on_all(servers, do, as_json=as_json)


async def _route(server: OneNameServer, name: str) -> TopicRoute | None:
    try:
        return await server.route(name)
    except TopicNotExist:
        return None


def _show_order(name: str, servers: NameServerOptions, *, as_json: bool) -> int:
    conf = servers.query(lambda client: client.get_kv(ORDER_TOPIC_NAMESPACE, name))
    if as_json:
        print_json({"topic": name, "order": conf})
    else:
        print_line(conf)
    return EXIT_OK


def _check_order(name: str, conf: str) -> None:
    from routebook.client.queues import check_order

    try:
        check_order(name, conf)
    except MalformedRoute as error:
        raise UsageError(f"clients reject this order: {error}") from None
