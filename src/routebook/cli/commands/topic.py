"""`routebook topic delete|register|order`: one topic at the NameServers."""

from typing import Annotated, Final, TypeAlias

from routebook.cli.all_nameservers import at_all, refuse, report
from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, Json, print_json, say
from routebook.cli.parameters import Argument, Command, Option
from routebook.cli.permissions import parse_permission
from routebook.client.client import NameServerClient, OneNameServer
from routebook.codes import ORDER_TOPIC_NAMESPACE
from routebook.errors import MalformedRoute, TopicNotExist, UsageError
from routebook.model import QueueData, TopicRoute

Name: TypeAlias = Annotated[str, Argument("TOPIC", "The topic's name.")]


def delete(
    name: Name,
    *,
    servers: NameServers,
    cluster: Annotated[str | None, Option(("--cluster",), "Only in this cluster.", "NAME")] = None,
    as_json: Json = False,
) -> int:
    """Make every NameServer forget a topic. A broker that still has it brings it back: delete it there first."""

    async def do(server: OneNameServer) -> str:
        before = await _route(server, name)
        await server.delete_topic(name, cluster=cluster)
        after = await _route(server, name)
        if before is None:
            return f"{name} was not there"
        if after is None:
            return f"{name} is deleted"
        left = ", ".join(sorted(data.broker_name for data in after.queue_datas))
        if cluster is not None and len(after.queue_datas) < len(before.queue_datas):
            return f"{name} is deleted in cluster {cluster}; it is still on {left}"
        raise refuse(server, f"{name} is still on {left}" + (f", not in cluster {cluster}" if cluster else ""))

    return report(at_all(servers, do), as_json=as_json)


def register(
    name: Name,
    *,
    servers: NameServers,
    broker: Annotated[list[str], Option(("--broker",), "On this broker; may be given several times.", "NAME")],
    read: Annotated[int, Option(("--read",), "How many queues to read from (8).", "QUEUES")] = 8,
    write: Annotated[int, Option(("--write",), "How many queues to write to (8).", "QUEUES")] = 8,
    perm: Annotated[str, Option(("--perm",), "rw, r or w (rw).", "PERM")] = "rw",
    as_json: Json = False,
) -> int:
    """Announce a topic on brokers that are registered, at every NameServer. The brokers do not learn of it."""
    queues = [
        QueueData(
            broker_name=one,
            perm=parse_permission(perm),
            read_queue_nums=read,
            topic_sys_flag=0,
            write_queue_nums=write,
        )
        for one in dict.fromkeys(broker)
    ]

    async def do(server: OneNameServer) -> str:
        known = (await server.cluster_info()).broker_addr_table
        unknown = [queue.broker_name for queue in queues if queue.broker_name not in known]
        if unknown:  # a NameServer would answer that all is well, and do nothing
            raise refuse(server, f"{name} is not registered: no broker {', '.join(unknown)} is known")
        await server.register_topic(name, queues)
        route = await _route(server, name)
        there = sorted(data.broker_name for data in route.queue_datas) if route is not None else []
        return f"{name} is on {', '.join(there) or 'no broker'}"

    return report(at_all(servers, do), as_json=as_json)


def order(
    name: Name,
    conf: Annotated[str | None, Argument("[BROKER:QUEUES;...]", "The order to set, as in b-a:4;b-b:4.")] = None,
    *,
    servers: NameServers,
    remove: Annotated[bool, Option(("--delete",), "Take the order away.")] = False,
    as_json: Json = False,
) -> int:
    """Show, set or delete the order of a topic. Routes show it where orderMessageEnable is true."""
    if remove and conf is not None:
        raise UsageError("--delete: give no order with it")
    if remove:

        async def do(server: OneNameServer) -> str:
            await server.delete_kv(ORDER_TOPIC_NAMESPACE, name)
            return f"{name} has no order"

        return report(at_all(servers, do), as_json=as_json)
    if conf is None:
        return _show_order(name, servers, as_json=as_json)
    _check_order(name, conf)

    async def put(server: OneNameServer) -> str:
        await server.put_kv(ORDER_TOPIC_NAMESPACE, name, conf)
        return f"the order of {name} is {conf}"

    return report(at_all(servers, put), as_json=as_json)


async def _route(server: OneNameServer, topic: str) -> TopicRoute | None:
    try:
        return await server.route(topic)
    except TopicNotExist:
        return None


def _show_order(name: str, servers: NameServers, *, as_json: bool) -> int:
    async def ask(client: NameServerClient) -> str:
        async with client:
            return await client.get_kv(ORDER_TOPIC_NAMESPACE, name)

    conf = run(ask(servers.client()))
    if as_json:
        print_json({"topic": name, "order": conf})
    else:
        say(conf)
    return EXIT_FINE


def _check_order(topic: str, conf: str) -> None:
    from routebook.client.queues import publish_queues

    try:
        publish_queues(
            topic, TopicRoute(broker_datas=[], filter_server_table={}, order_topic_conf=conf, queue_datas=[])
        )
    except MalformedRoute as error:
        raise UsageError(f"clients could not use this: {error}") from None


COMMANDS: Final[dict[str, Command]] = {"delete": delete, "register": register, "order": order}
