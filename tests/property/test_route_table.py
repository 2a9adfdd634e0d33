"""The route table beside a naive model: the same results for any operations, and events that rebuild the tables."""

from collections import Counter
from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from routebook.effects import Change, CloseConnection
from routebook.events import DownReason
from routebook.handlers.registration_cache import RegistrationCache
from routebook.model import (
    BrokerData,
    BrokerKey,
    DataVersion,
    QueueData,
    RegisterBody,
    RegisterResult,
    Registration,
    RoutePolicy,
    TopicConfig,
    TopicRoute,
)
from routebook.routes import RouteTable
from routebook.wire.register_body import DecodedBody
from tests.support.naive_routes import NaiveRoutes
from tests.support.route_tables import check_consistency, dump, mapping

CLUSTERS = ["C1", "C1", "C1", "C1", "C2"]
BROKERS = ["a", "a", "a", "b"]
ADDRS = ["h0:1", "h1:1", "h2:1"]
TOPICS = ["T1", "T2", "rmq_sys_SYNC_BROKER_MEMBER_a"]
CONNECTIONS = [1, 2, 3]

# Small pools, so that things meet; what is usual more often than what is odd, so that they meet in good health.
numbers = st.integers(1, 2)
ids = st.sampled_from([0, 0, 0, 1, 1, 1, 2, 2, -1])
keys = st.builds(BrokerKey, st.sampled_from(CLUSTERS), st.sampled_from(ADDRS))
connections = st.sampled_from(CONNECTIONS)
versions = st.sampled_from(
    [
        *[DataVersion(counter=counter, state_version=0, timestamp=1) for counter in (1, 1, 2, 3)],
        DataVersion(counter=1, state_version=1, timestamp=1),
        DataVersion(counter=None, state_version=0, timestamp=1),
        None,
    ]
)
configs = st.builds(
    TopicConfig,
    topic_name=st.sampled_from(TOPICS),
    perm=st.sampled_from([6, 6, 7, 4]),
    read_queue_nums=numbers,
    write_queue_nums=st.just(1),
    topic_sys_flag=st.integers(0, 3),
)
tables = st.sampled_from([2, 3, 3, 3, 1, 0]).flatmap(
    lambda size: st.lists(configs, min_size=size, max_size=size + size // 3).map(tuple)
)
mappings = st.builds(mapping, st.sampled_from(TOPICS), st.sampled_from(["a", "a", "b", "ghost", None]), epoch=numbers)
registrations = st.builds(
    Registration,
    cluster=st.sampled_from(CLUSTERS),
    broker=st.sampled_from(BROKERS),
    addr=st.sampled_from(ADDRS),
    broker_id=ids,
    ha_addr=st.sampled_from(["ha:1", "ha:1", "ha:2", None]),
    timeout_ms=st.sampled_from([None, None, 10_000]),
    acting_master=st.sampled_from([True, True, True, False, None]),
    zone=st.sampled_from([None, None, None, "Z1"]),
    body=st.builds(
        RegisterBody,
        topics=st.integers(0, 15).flatmap(lambda odd: tables if odd else st.none()),
        data_version=versions,
        mappings=st.dictionaries(st.sampled_from(TOPICS), mappings, max_size=1),
        filter_servers=st.sampled_from([(), (), None, ("f:1",)]),
    ),
)
PARTS = ["broker_id", "broker_id", "addr", "cluster", "ha_addr", "acting_master", "zone", "topics", "data_version"]
policies = st.builds(
    RoutePolicy,
    delete_topic_with_broker_registration=st.booleans(),
    notify_min_broker_id_changed=st.booleans(),
    support_acting_master=st.booleans(),
)
queue_datas = st.builds(
    QueueData,
    broker_name=st.sampled_from([*BROKERS, "ghost"]),
    perm=st.sampled_from([4, 6]),
    read_queue_nums=numbers,
    topic_sys_flag=st.integers(0, 3),
    write_queue_nums=numbers,
)


class RouteTableMachine(RuleBasedStateMachine):
    """`table` renews where it can, `twin` always registers, `replayed` knows the events alone, `model` is naive."""

    known = Bundle("known")

    def __init__(self) -> None:
        super().__init__()
        self.table, self.twin, self.replayed, self.model = RouteTable(), RouteTable(), RouteTable(), NaiveRoutes()
        self.policy = RoutePolicy(support_acting_master=True, notify_min_broker_id_changed=True)
        self.cache = RegistrationCache()
        self.now = 0
        self.present: dict[BrokerKey, Registration] = {}  # who registered last from where
        self.last: tuple[int, dict[str, Any]] = (0, dump(self.table))
        self.routes: dict[str, tuple[int, Any]] = {}

    def settle(self, change: Change, twin: Change) -> None:
        """All four have made the step: they say the same about it."""
        assert twin == change
        performed = Counter[tuple[object, ...]](
            ("close", effect.connection)
            if isinstance(effect, CloseConnection)
            else (
                "notify",
                frozenset(effect.recipients),
                effect.min_broker_id,
                effect.min_broker_addr,
                effect.offline_addr,
                effect.ha_addr,
            )
            for effect in change.effects
        )
        assert performed == Counter(self.model.effects)
        self.model.effects.clear()
        for event in change.events:
            self.replayed.apply(event, now_ms=self.now)
        revision, before = self.last
        assert self.table.revision == revision + bool(change.events)
        assert (dump(self.table) != before) == bool(change.events), change.events
        self.last = (self.table.revision, dump(self.table))

    def do_register(self, what: Registration, connection: int) -> None:
        fingerprint = repr((what, self.policy))
        twin_result, twin, *_ = self.twin.register(what, connection=connection, now_ms=self.now, policy=self.policy)
        result = self.cache.renew(self.table, what.key, fingerprint=fingerprint, connection=connection, now_ms=self.now)
        change = Change()
        if result is None:
            registered = self.table.register(what, connection=connection, now_ms=self.now, policy=self.policy)
            result, change = registered.result, registered.change
            self.cache.remember(what, DecodedBody(what.body, (), None), registered, fingerprint=fingerprint)
        expected = self.model.register(what, connection=connection, now=self.now, policy=self.policy)
        assert result == twin_result == (None if expected is None else RegisterResult(*expected))
        self.settle(change, twin)
        if self.table.has_lease(what.key):
            self.present[what.key] = what

    @rule(target=known, what=registrations, connection=connections)
    def register(self, what: Registration, connection: int) -> Any:
        self.do_register(what, connection)
        return what

    @precondition(lambda self: self.present)
    @rule(choice=st.integers(0, 7), connection=connections)
    def register_again(self, choice: int, connection: int) -> None:
        """What real brokers do twice a minute."""
        present = list(self.present.values())
        self.do_register(present[choice % len(present)], connection)

    @rule(target=known, what=known, connection=connections, other=registrations, part=st.sampled_from(PARTS))
    def register_changed(self, what: Registration, connection: int, other: Registration, part: str) -> Any:
        """The same but for one part: another id (a role switch), another version, another cluster …"""
        if hasattr(what, part):
            changed = replace(what, **{part: getattr(other, part)})
        else:
            changed = replace(what, body=replace(what.body, **{part: getattr(other.body, part)}))
        self.do_register(changed, connection)
        return changed

    def do_unregister(self, key: BrokerKey, broker: str, broker_id: int, connection: int) -> None:
        changes = [
            table.unregister(key, broker=broker, broker_id=broker_id, connection=connection, policy=self.policy)
            for table in (self.table, self.twin)
        ]
        self.model.unregister((key.cluster, key.addr), broker, broker_id, connection, self.policy)
        self.settle(*changes)

    @rule(key=keys, broker=st.sampled_from(BROKERS), broker_id=ids, connection=connections | st.just(99))
    def unregister(self, key: BrokerKey, broker: str, broker_id: int, connection: int) -> None:
        self.do_unregister(key, broker, broker_id, connection)

    @rule(what=known, connection=connections | st.just(99))
    def unregister_known(self, what: Registration, connection: int) -> None:
        self.do_unregister(what.key, what.broker, what.broker_id, connection)

    @rule(connection=connections, reason=st.sampled_from([DownReason.CLOSED, DownReason.IDLE]))
    def connection_lost(self, connection: int, reason: DownReason) -> None:
        changes = [
            table.connection_lost(connection, reason=reason, policy=self.policy) for table in (self.table, self.twin)
        ]
        self.model.connection_lost(connection, self.policy)
        self.settle(*changes)

    @rule(passed=st.sampled_from([1, 9_999, 10_000, 10_001, 120_001]))
    def expire(self, passed: int) -> None:
        self.now += passed
        changes = [table.expire(self.now, policy=self.policy) for table in (self.table, self.twin)]
        self.model.expire(self.now, self.policy)
        self.settle(*changes)

    @rule(key=keys, passed=st.sampled_from([0, 5_000]))
    def heartbeat(self, key: BrokerKey, passed: int) -> None:
        self.now += passed
        assert self.table.heartbeat(key, self.now) == self.twin.heartbeat(key, self.now) == (key in self.model.live)
        self.model.heartbeat((key.cluster, key.addr), self.now)

    @rule(topic=st.sampled_from(TOPICS), queues=st.lists(queue_datas, max_size=3))
    def register_topic(self, topic: str, queues: list[QueueData]) -> None:
        changes = [table.register_topic(topic, queues) for table in (self.table, self.twin)]
        self.model.register_topic(topic, queues)
        self.settle(*changes)

    @rule(topic=st.sampled_from(TOPICS), cluster=st.sampled_from([None, None, "C1", "C2", "C3"]))
    def delete_topic(self, topic: str, cluster: str | None) -> None:
        changes = [table.delete_topic(topic, cluster=cluster) for table in (self.table, self.twin)]
        self.model.delete_topic(topic, cluster)
        self.settle(*changes)

    @rule(broker=st.sampled_from([*BROKERS, "ghost"]), wipe=st.booleans())
    def permissions(self, broker: str, wipe: bool) -> None:
        counted = [
            table.wipe_write(broker) if wipe else table.restore_write(broker) for table in (self.table, self.twin)
        ]
        count = self.model.set_perm(broker, (lambda perm: perm & ~2) if wipe else (lambda _: 6))
        assert [c for c, _ in counted] == [count, count]
        self.settle(*[change for _, change in counted])

    @rule(policy=policies)
    def change_policy(self, policy: RoutePolicy) -> None:
        self.policy = policy

    @invariant()
    def tables_are_consistent(self) -> None:
        for table in (self.table, self.twin, self.replayed):
            check_consistency(table)

    @invariant()
    def replay_and_twin_know_the_same(self) -> None:
        assert dump(self.replayed) == dump(self.table)
        assert dump(self.twin) == dump(self.table)
        times = {key: lease.last_update_ms for key, lease in self.table.lease_table.items()}
        assert times == {key: lease.last_update_ms for key, lease in self.twin.lease_table.items()}
        assert times == {BrokerKey(*key): lease["last"] for key, lease in self.model.live.items()}
        assert self.table.registered_over == self.twin.registered_over

    @invariant()
    def views_are_those_of_the_model(self) -> None:
        info = self.table.cluster_info()
        assert {name: shown(data) for name, data in info.broker_addr_table.items()} == self.model.groups()
        assert {c: set(names) for c, names in info.cluster_addr_table.items()} == self.model.clusters()
        assert set(self.table.topics()) == set(self.model.topics)
        for cluster in {*CLUSTERS, "C3"}:
            names = self.model.clusters().get(cluster, set())
            expected = {topic for topic, queues in self.model.topics.items() if names & set(queues)}
            assert set(self.table.topics_of_cluster(cluster)) == expected
        for broker in BROKERS:
            assert self.table.member_group(broker) == self.model.addrs(broker)
        system = self.table.system_topics()
        clusters = self.model.clusters()
        assert set(system.topic_list) == set(clusters).union(*clusters.values())
        addrs = {addr for _, addr in self.model.members.values()}
        assert system.broker_addr in addrs if addrs else system.broker_addr is None
        for flag in range(4):
            flagged = {t for t, queues in self.model.topics.items() if next(iter(queues.values()))[3] == flag}
            assert set(self.table.unit_topics(flag.__eq__)) == flagged
        for key in {BrokerKey(cluster, addr) for cluster in CLUSTERS for addr in ADDRS}:
            assert self.table.has_lease(key) == (key in self.model.live)
            assert self.table.data_version(key) == self.model.version(key)
            for version in (None, self.model.version(key), DataVersion(counter=9, state_version=9, timestamp=9)):
                assert self.table.is_changed(key, version) == self.model.changed(key, version)

    @invariant()
    def routes_are_those_of_the_model(self) -> None:
        for topic in TOPICS:
            seen = []
            for policy in (RoutePolicy(), RoutePolicy(support_acting_master=True)):
                route = self.table.route(topic, policy)
                assert shown_route(route) == self.model.route(topic, policy)
                seen.append(shown_route(route))
            revision = self.table.route_revision(topic)
            assert (revision == -1) == (topic not in self.model.topics)
            for since in (revision - 1, revision, self.table.revision):
                assert self.table.route_changed(topic, since=since) == (revision == -1 or revision > since)
            old_revision, old = self.routes.get(topic, (-1, [None, None]))
            assert old == seen or revision > old_revision or revision == -1
            self.routes[topic] = (revision, seen) if revision != -1 else (old_revision, [None, None])


def shown(data: BrokerData) -> dict[str, Any]:
    return {
        "addrs": data.broker_addrs,
        "cluster": data.cluster,
        "acting": data.enable_acting_master,
        "zone": data.zone_name,
    }


def shown_route(route: TopicRoute | None) -> dict[str, Any] | None:
    if route is None:
        return None
    return {
        "groups": {data.broker_name: shown(data) for data in route.broker_datas},
        "queues": {
            q.broker_name: (q.perm, q.read_queue_nums, q.write_queue_nums, q.topic_sys_flag) for q in route.queue_datas
        },
        "filters": route.filter_server_table,
        "mappings": route.topic_queue_mapping_by_broker,
    }


RouteTableMachine.TestCase.settings = settings(max_examples=250, stateful_step_count=50, deadline=None)
TestRouteTable = RouteTableMachine.TestCase
