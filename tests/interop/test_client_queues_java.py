"""Queue lists and route changes computed by Routebook's client and by the classes of the Java client."""

import json
import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from routebook.client import publish_queues, route_changed, subscribe_queues
from routebook.client.queues import static_queue_hosts
from routebook.errors import MalformedRoute
from routebook.model import BrokerData, QueueData, TopicQueueMappingInfo, TopicRoute
from routebook.wire.bodies import encode_route
from routebook.wire.reply_bodies import decode_route
from tests.support.java import COMMON_FLAGS, PROJECT, fetch_jars
from tests.support.missing_tools import require_tool

pytestmark = pytest.mark.java

CASES: Final = 400
NAMES: Final = ("a", "b", "B", "broker-10", "broker-9", "é", "集", "\ue000", "😀")
ORDER_CONFS: Final = ("a:4", "b:2;a:3", "a:1;", ";a:1", "a", "a:x", "a:+2;b:0", ";;", ":3", "a:2:9", "a:-1", "a:٣", "")


def test_queues_and_changes_equal_those_of_the_java_client(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    routes = [(_route(rng), _route(rng)) for _ in range(CASES)]
    routes += [(route, _shuffled(rng, _touched(rng, route))) for route, _ in routes]
    routes += [(route, _shuffled(rng, route)) for route, _ in routes[:CASES]]

    seen = _ask_java(tmp_path, routes)

    for (route, other), java in zip(routes, seen, strict=True):
        about = f"seed {seed}: {route} → {other}"
        read = decode_route(encode_route(route, standard=rng.random() < 0.5))
        assert _publish(read) == (java.get("publish"), java.get("ordered")), about
        assert _listed(subscribe_queues("t", read)) == sorted(java["subscribe"]), about
        hosts = static_queue_hosts("t", read.topic_queue_mapping_by_broker or {})
        assert sorted([*queue, host] for queue, host in hosts.items()) == sorted(java["hosts"]), about
        assert route_changed(route, other) == java["changed"], about
    assert {java["changed"] for java in seen} == {True, False}
    assert any("publish" not in java for java in seen)
    assert sum(bool(java["hosts"]) for java in seen) > CASES / 10


def _publish(route: TopicRoute) -> tuple[list[list[object]] | None, bool | None]:
    try:
        publish = publish_queues("t", route)
    except MalformedRoute:
        return None, None
    return [list(queue) for queue in publish.queues], publish.ordered


def _listed(queues: frozenset[Any]) -> list[list[object]]:
    return sorted(list(queue) for queue in queues)


def _ask_java(tmp_path: Path, routes: Sequence[tuple[TopicRoute, TopicRoute]]) -> list[dict[str, Any]]:
    require_tool("javac")
    class_path = f"{tmp_path}{os.pathsep}{PROJECT}{os.pathsep}{fetch_jars()}/*"
    compile_it = [
        "javac",
        "-encoding",
        "UTF-8",
        "-cp",
        class_path,
        "-d",
        str(tmp_path),
        str(PROJECT / "RouteProbe.java"),
    ]
    subprocess.run(compile_it, check=True, capture_output=True)
    lines = [
        json.dumps({"topic": "t", "route": _text(route), "other": _text(other)}, ensure_ascii=False)
        for route, other in routes
    ]
    flags = [*COMMON_FLAGS, f"-Duser.home={tmp_path}", "-Drocketmq.client.logUseSlf4j=true"]
    done = subprocess.run(
        ["java", *flags, "-cp", class_path, "RouteProbe"],
        input="\n".join(lines).encode(),
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]


def _text(route: TopicRoute) -> str:
    return encode_route(route, standard=False).decode()


def _route(rng: random.Random) -> TopicRoute:
    names = rng.sample(NAMES, rng.randint(0, 4))
    queue_names = [name for name in names if rng.random() < 0.9] + (["gone"] if rng.random() < 0.1 else [])
    return TopicRoute(
        broker_datas=[_broker(rng, name) for name in names],
        filter_server_table={"10.0.0.1:1": ["f:1"]} if rng.random() < 0.1 else {},
        order_topic_conf=rng.choice(ORDER_CONFS) if rng.random() < 0.3 else None,
        queue_datas=[_queue(rng, name) for name in rng.sample(queue_names, len(queue_names))],
        topic_queue_mapping_by_broker=_mappings(rng, names) if rng.random() < 0.4 else None,
    )


def _broker(rng: random.Random, name: str) -> BrokerData:
    return BrokerData(
        broker_addrs={broker_id: f"10.0.0.{broker_id}:1" for broker_id in range(3) if rng.random() < 0.6},
        broker_name=name,
        cluster=rng.choice(("c", "d")),
        enable_acting_master=rng.random() < 0.5,
        zone_name=rng.choice((None, "z")),
    )


def _queue(rng: random.Random, name: str) -> QueueData:
    return QueueData(
        broker_name=name,
        perm=rng.randrange(16),
        read_queue_nums=rng.choice((-1, 0, 1, 4)),
        topic_sys_flag=rng.randrange(4),
        write_queue_nums=rng.choice((-1, 0, 1, 4)),
    )


def _mappings(rng: random.Random, names: Sequence[str]) -> dict[str, TopicQueueMappingInfo]:
    # Epochs differ: of two equal ones Java takes the last in hash order.
    # One scope only: the queues of two scopes are in hash order too.
    epochs = rng.sample((-3, -1, 0, 1, 5, 1 << 30), len(names))
    scope = rng.choice(("__global__", "__global__", "s1", None))
    return {
        name: TopicQueueMappingInfo(
            bname=name,
            curr_id_map={queue_id: queue_id for queue_id in range(8) if rng.random() < 0.4},
            dirty=rng.random() < 0.2,
            epoch=epoch,
            scope=scope,
            topic="t",
            total_queues=rng.choice((0, 4, 6, 8)),
        )
        for name, epoch in zip(names, epochs, strict=True)
    }


def _touched(rng: random.Random, route: TopicRoute) -> TopicRoute:
    """Another cluster, zone and flag on each broker (no change to Java), and sometimes a real change."""
    brokers = [
        BrokerData(
            broker_addrs=data.broker_addrs,
            broker_name=data.broker_name,
            cluster="other",
            enable_acting_master=not data.enable_acting_master,
        )
        for data in route.broker_datas
    ]
    queues = list(route.queue_datas)
    if queues and rng.random() < 0.5:
        queues[0] = _queue(rng, queues[0].broker_name)
    return TopicRoute(
        broker_datas=brokers,
        filter_server_table=route.filter_server_table,
        order_topic_conf=route.order_topic_conf,
        queue_datas=queues,
        topic_queue_mapping_by_broker=route.topic_queue_mapping_by_broker,
    )


def _shuffled(rng: random.Random, route: TopicRoute) -> TopicRoute:
    return TopicRoute(
        broker_datas=rng.sample(route.broker_datas, len(route.broker_datas)),
        filter_server_table=route.filter_server_table,
        order_topic_conf=route.order_topic_conf,
        queue_datas=rng.sample(route.queue_datas, len(route.queue_datas)),
        topic_queue_mapping_by_broker=route.topic_queue_mapping_by_broker,
    )
