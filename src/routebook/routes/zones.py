"""Filters a route for a client that asks for its own zone only. Java: ZoneRouteRPCHook."""

import msgspec

from routebook.codes import MASTER_ID
from routebook.model import DEFAULT_SCOPE, BrokerData, TopicQueueMappingInfo, TopicRoute


def filter_route(route: TopicRoute, zone: str) -> TopicRoute:
    """The route without brokers of other zones; groups without a master stay. Java: ZoneRouteRPCHook."""
    kept: list[BrokerData] = []
    dropped: list[BrokerData] = []
    for data in route.broker_datas:
        stays = MASTER_ID not in data.broker_addrs or _same(data.zone_name, zone)
        (kept if stays else dropped).append(data)
    names = {data.broker_name for data in dropped}
    return msgspec.structs.replace(
        route,
        broker_datas=kept,
        queue_datas=[queue for queue in route.queue_datas if queue.broker_name not in names],
        filter_server_table=_without(route.filter_server_table, dropped),
        topic_queue_mapping_by_broker=_with_defaults(route.topic_queue_mapping_by_broker),
    )


def _with_defaults(
    mappings: dict[str, TopicQueueMappingInfo] | None,
) -> dict[str, TopicQueueMappingInfo] | None:
    """Java: decodes the encoded route, in which nulls are missing, so that they become defaults."""
    return mappings and {
        name: msgspec.structs.replace(
            info,
            scope=DEFAULT_SCOPE if info.scope is None else info.scope,
            curr_id_map={} if info.curr_id_map is None else info.curr_id_map,
        )
        for name, info in mappings.items()
    }


def _without(filter_servers: dict[str, list[str]], dropped: list[BrokerData]) -> dict[str, list[str]]:
    addrs = {addr for data in dropped for addr in data.broker_addrs.values()}
    return {addr: servers for addr, servers in filter_servers.items() if addr not in addrs}


def _same(name: str | None, zone: str) -> bool:
    """Java: equalsIgnoreCase compares letter by letter, so ß is not SS."""
    return (
        name is not None
        and len(name) == len(zone)
        and all(a == b or a.upper() == b.upper() or a.lower() == b.lower() for a, b in zip(name, zone, strict=True))
    )
