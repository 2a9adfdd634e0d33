"""`/v1/clusters` and `/v1/brokers`: broker groups, now and in the past, and the impact of losing one."""

from bisect import bisect_right

import msgspec
from litestar import get

from routebook.codes import PERM_WRITE
from routebook.history.query.answers import BrokerTimeline
from routebook.server.http.api.dependencies import ContextDep, ThreadsDep
from routebook.server.http.api.parameters import (
    After,
    At,
    Limit,
    NameInPath,
    OnlyCluster,
    find_group,
    from_path,
    parse_time,
    query_history,
)
from routebook.server.http.errors import error_specs
from routebook.server.http.views import answers, tables
from routebook.server.http.views.topic_names import slices


class TopicNames(msgspec.Struct, frozen=True, kw_only=True):
    """The number of topics, and the first of them by name."""

    total: int
    names: list[str]


class LossAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Impact of losing all members of a group."""

    broker: str
    topics: int
    only_here: TopicNames  # topics that would have no broker
    writes_only_here: TopicNames  # topics that would have no writable broker
    write_queues: int
    read_queues: int
    members: int
    has_other_members: bool  # more than one member


@get("/v1/clusters", summary="Clusters and their broker groups")
async def clusters(context: ContextDep) -> answers.ClustersAnswer:
    return answers.ClustersAnswer(clusters=tables.clusters(context.nameserver))


@get("/v1/brokers", summary="Broker groups, now or at a past time", responses=error_specs(503))
async def brokers(
    context: ContextDep,
    threads: ThreadsDep,
    at: At = None,
    cluster: OnlyCluster = None,
    after: After = "",
    limit: Limit = 500,
) -> answers.BrokersAnswer | answers.PastBrokersAnswer:
    if at is not None:
        at_ms = parse_time(at)
        found = await query_history(context, threads, lambda history: history.brokers_at(at_ms))
        past = tables.past_brokers(found)
        groups = [group for group in past.groups if cluster in (None, group.cluster)]
        return msgspec.structs.replace(past, groups=groups)
    routes, now_ms = context.nameserver.routes, context.now_ms()
    names = sorted(routes.group_table if cluster is None else routes.cluster_table.get(cluster, ()))
    begin = bisect_right(names, after) if after else 0
    page = names[begin : begin + limit]
    return answers.BrokersAnswer(
        at_ms=now_ms,
        total=len(names),
        groups=[tables.group(context.nameserver, routes.group_table[name], now_ms) for name in page],
        next=page[-1] if len(names) > begin + limit else None,
    )


@get("/v1/brokers/{name:str}", summary="One broker group", responses=error_specs(404))
async def broker(context: ContextDep, name: NameInPath) -> answers.BrokerAnswer:
    name, now_ms = from_path(name), context.now_ms()
    group = tables.group(context.nameserver, find_group(context.nameserver, name), now_ms)
    topics = 0
    async for entries in slices(list(context.nameserver.routes.topic_table.values())):
        topics += sum(name in entry.queues for entry in entries)
    return answers.BrokerAnswer(at_ms=now_ms, group=group, topics=topics)


@get("/v1/brokers/{name:str}/history", summary="Changes of a broker group", responses=error_specs(503))
async def broker_history(
    context: ContextDep, threads: ThreadsDep, name: NameInPath, limit: Limit = 20
) -> BrokerTimeline:
    """The newest versions of a broker group, newest first; a version without addresses means that it was down."""
    name = from_path(name)
    return await query_history(context, threads, lambda history: history.broker_timeline(name, limit=limit))


@get("/v1/brokers/{name:str}/loss", summary="Impact if a broker goes down", responses=error_specs(404))
async def broker_loss(context: ContextDep, name: NameInPath, limit: Limit = 100) -> LossAnswer:
    """Topics that only this group has, or that only this group accepts writes for."""
    name = from_path(name)
    members = len(find_group(context.nameserver, name).members)
    topics = write_queues = read_queues = 0
    only_here: list[str] = []
    writes_only_here: list[str] = []
    async for entries in slices(list(context.nameserver.routes.topic_table.items())):
        for topic, entry in entries:
            queue = entry.queues.get(name)
            if queue is None:
                continue
            topics += 1
            read_queues += queue.read_queue_nums
            is_writable = bool(queue.perm & PERM_WRITE)
            write_queues += queue.write_queue_nums if is_writable else 0
            if len(entry.queues) == 1:
                only_here.append(topic)
            elif is_writable and not any(
                other.perm & PERM_WRITE for broker, other in entry.queues.items() if broker != name
            ):
                writes_only_here.append(topic)
    return LossAnswer(
        broker=name,
        topics=topics,
        only_here=TopicNames(total=len(only_here), names=sorted(only_here)[:limit]),
        writes_only_here=TopicNames(total=len(writes_only_here), names=sorted(writes_only_here)[:limit]),
        write_queues=write_queues,
        read_queues=read_queues,
        members=members,
        has_other_members=members > 1,
    )
