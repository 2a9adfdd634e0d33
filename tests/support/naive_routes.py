"""A naive model of the route tables: plain dicts, linear search, no redundant indexes."""

from typing import Any

from routebook.model import QueueData, Registration, RoutePolicy

Queues = dict[str, tuple[int, int, int, int]]


class NaiveRoutes:
    """Slow and simple. Methods return what the caller receives; `effects` collects notices and closed connections."""

    def __init__(self) -> None:
        self.topics: dict[str, Queues] = {}  # topic → broker → perm, read, write, flag
        self.members: dict[tuple[str, int], tuple[str, str]] = {}  # broker, id → cluster, address
        self.flags: dict[str, tuple[bool, str | None]] = {}  # broker → acting master, zone
        self.named: dict[str, str] = {}  # broker → cluster it is shown under
        self.live: dict[tuple[str, str], dict[str, Any]] = {}  # cluster, address → lease
        self.seat: dict[tuple[str, str, str], int] = {}  # cluster, address, broker → connection
        self.ever: dict[tuple[int, str, str, str], None] = {}  # connection, cluster, address, broker, in order
        self.mappings: dict[str, dict[str, Any]] = {}  # topic → broker → mapping
        self.effects: list[tuple[Any, ...]] = []

    # queries

    def ids(self, broker: str) -> list[int]:
        return sorted(i for name, i in self.members if name == broker)

    def addrs(self, broker: str) -> dict[int, str]:
        return {i: self.members[broker, i][1] for i in self.ids(broker)}

    def clusters(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for (broker, _), (cluster, _) in self.members.items():
            found.setdefault(cluster, set()).add(broker)
        return found

    def group(self, broker: str, addrs: dict[int, str]) -> dict[str, Any]:
        acting, zone = self.flags[broker]
        return {"addrs": addrs, "cluster": self.named[broker], "acting": acting, "zone": zone}

    def groups(self) -> dict[str, Any]:
        return {broker: self.group(broker, self.addrs(broker)) for broker, _ in self.members}

    def route(self, topic: str, policy: RoutePolicy) -> dict[str, Any] | None:
        if topic not in self.topics:
            return None
        groups, filters = {}, {}
        for broker, (perm, _, _, _) in self.topics[topic].items():
            addrs = self.addrs(broker)
            substitute = (
                policy.support_acting_master
                and not topic.startswith("rmq_sys_SYNC_BROKER_MEMBER_")
                and 0 not in addrs
                and self.flags[broker][0]
                and not perm & 2
            )
            if substitute:
                least = min(addrs)
                addrs[0] = addrs.pop(least)
            groups[broker] = self.group(broker, addrs)
            for i in self.ids(broker):
                servers = self.live[self.members[broker, i]]["filters"]
                if servers:
                    filters[self.members[broker, i][1]] = list(servers)
        return {
            "groups": groups,
            "queues": dict(self.topics[topic]),
            "filters": filters,
            "mappings": self.mappings.get(topic) or None,
        }

    def version(self, key: tuple[str, str]) -> Any:
        return self.live[key]["version"] if key in self.live else None

    def changed(self, key: tuple[str, str], version: Any) -> bool:
        return self.version(key) is None or self.version(key) != version

    # changes

    def heartbeat(self, key: tuple[str, str], now: int) -> None:
        if key in self.live:
            self.live[key]["last"] = now

    def register(self, r: Registration, *, connection: int, now: int, policy: RoutePolicy) -> tuple[Any, Any] | None:
        key, body = (r.cluster, r.addr), r.body
        if body.topics is None:
            return None, None
        ids = self.ids(r.broker)
        least_before = min(ids) if ids else 0
        holder = self.members.get((r.broker, r.broker_id))
        if holder is not None and holder[1] != r.addr and holder[0] == r.cluster:
            old, new = self.version(holder), body.data_version
            if (old.state_version if old else 0) > (new.state_version if new else 0):
                mine = [i for i in ids if self.members[r.broker, i] == key]
                self.remove([(*key, r.broker, mine[0])] if mine else [], policy)
                return None, None
        if holder is None and len(body.topics) == 1:
            return None
        everything = holder is None or self.changed(key, body.data_version)

        if holder is not None and holder != key:
            self.leave(r.broker, r.broker_id)
        for i in ids:
            here = self.members.get((r.broker, i))
            if here is not None and here[1] == r.addr and i != r.broker_id:
                self.leave(r.broker, i, keep_lease=here == key)
        self.members[r.broker, r.broker_id] = key
        self.seat[(*key, r.broker)] = connection
        self.ever[connection, *key, r.broker] = None
        self.flags[r.broker] = (bool(r.acting_master), r.zone)
        self.name_groups(r.broker, r.cluster)
        filters = self.live.get(key, {}).get("filters", ())
        self.live[key] = {
            "last": now,
            "timeout": 120_000 if r.timeout_ms is None else r.timeout_ms,
            "version": body.data_version,
            "ha": r.ha_addr,
            "filters": filters if body.filter_servers is None else body.filter_servers,
        }

        leads = r.broker_id == min(self.ids(r.broker))
        prime_slave = r.acting_master is not None and r.broker_id != 0 and leads
        if r.broker_id == 0 or prime_slave:
            self.announce(r, everything=everything, read_only=prime_slave and bool(r.acting_master), policy=policy)
        if r.broker_id < least_before and policy.notify_min_broker_id_changed:
            self.notify(r.broker, offline=None, ha=r.ha_addr)
        if r.broker_id == 0 or (r.broker, 0) not in self.members or self.members[r.broker, 0][0] != r.cluster:
            return None, None
        master = self.members[r.broker, 0]
        return self.live[master]["ha"], master[1]

    def announce(self, r: Registration, *, everything: bool, read_only: bool, policy: RoutePolicy) -> None:
        announced = [config.topic_name for config in r.body.topics or ()]
        if policy.delete_topic_with_broker_registration and not r.body.mappings:
            for topic in list(self.topics):
                if r.broker in self.topics[topic] and topic not in announced:
                    self.forget(topic, r.broker)
        returning = [topic for topic in announced if r.broker not in self.topics.get(topic, {})]
        for config in r.body.topics or ():
            if everything or r.broker not in self.topics.get(config.topic_name, {}):
                perm = config.perm & ~2 if read_only else config.perm
                self.topics.setdefault(config.topic_name, {})[r.broker] = (
                    perm,
                    config.read_queue_nums,
                    config.write_queue_nums,
                    config.topic_sys_flag,
                )
        for topic, info in r.body.mappings.items():
            owner = info.bname if info.bname is not None else r.broker
            if everything or (topic in returning and owner not in self.mappings.get(topic, {})):
                self.mappings.setdefault(topic, {})[owner] = info

    def unregister(
        self, key: tuple[str, str], broker: str, broker_id: int, connection: int, policy: RoutePolicy
    ) -> None:
        where = (*key, broker)
        if where not in self.seat:
            return
        if self.seat[where] != connection and (connection, *where) in self.ever:
            return
        self.remove([(*where, broker_id)], policy)

    def connection_lost(self, connection: int, policy: RoutePolicy) -> None:
        registered = [where for over, *where in self.ever if over == connection]
        gone = [(c, a, b) for c, a, b in registered if self.seat.get((c, a, b)) == connection]
        self.remove([(*where, self.id_of(*where)) for where in gone], policy)
        self.ever = {known: None for known in self.ever if known[0] != connection}

    def expire(self, now: int, policy: RoutePolicy) -> None:
        dead = [key for key, lease in self.live.items() if lease["last"] + lease["timeout"] < now]
        gone = [where for key in dead for where in self.seat if where[:2] == key]
        alive = {over for where, over in self.seat.items() if where[:2] not in dead}
        self.effects += [("close", over) for over in {self.seat[where] for where in gone} - alive]
        self.remove([(*where, self.id_of(*where)) for where in gone], policy)

    def id_of(self, cluster: str, addr: str, broker: str) -> int:
        return next(i for (name, i), at in self.members.items() if name == broker and at == (cluster, addr))

    def remove(self, leavers: list[tuple[str, str, str, int]], policy: RoutePolicy) -> None:
        offline = {}
        for cluster, addr, broker, said_id in leavers:
            led = said_id == min(self.ids(broker))
            self.leave(broker, self.id_of(cluster, addr, broker))
            if led:
                offline[broker] = addr
        brokers = {broker for _, _, broker, _ in leavers}
        gone = {broker for broker in brokers if not self.ids(broker)}
        for topic in list(self.topics):
            for broker in gone & set(self.topics[topic]):
                self.forget(topic, broker)
        if gone:
            alive = {broker for broker, _ in self.members}
            for topic in list(self.mappings):
                kept = {broker: info for broker, info in self.mappings[topic].items() if broker in alive}
                self.mappings[topic] = kept
        for broker in brokers - gone:
            if self.flags[broker][0] and min(self.ids(broker)) > 0:
                self.set_perm(broker, lambda perm: perm & ~2)
            if self.flags[broker][0] and broker in offline and policy.notify_min_broker_id_changed:
                self.notify(broker, offline=offline[broker], ha=None)

    def leave(self, broker: str, broker_id: int, *, keep_lease: bool = False) -> None:
        where = self.members.pop((broker, broker_id))
        if keep_lease:
            return
        del self.seat[(*where, broker)]
        if not any(at[:2] == where for at in self.seat):
            del self.live[where]
        self.name_groups(broker, None)

    def name_groups(self, broker: str, newcomer: str | None) -> None:
        """A group belongs to its first cluster while it has a member there, else to that of its lowest id."""
        clusters = [self.members[broker, i][0] for i in self.ids(broker)]
        if not clusters:
            self.named.pop(broker, None)
        elif broker not in self.named and newcomer is not None:
            self.named[broker] = newcomer
        elif self.named[broker] not in clusters:
            self.named[broker] = clusters[0]

    def forget(self, topic: str, broker: str) -> None:
        self.topics.get(topic, {}).pop(broker, None)
        if topic in self.topics and not self.topics[topic]:
            del self.topics[topic]
        self.mappings.get(topic, {}).pop(broker, None)

    def notify(self, broker: str, *, offline: str | None, ha: str | None) -> None:
        addrs = self.addrs(broker)
        least = min(addrs)
        to = set(addrs.values())
        if offline is None and len(addrs) > 1:
            to.discard(addrs[least])
        self.effects.append(("notify", frozenset(to), least, addrs[least], offline, ha))

    def register_topic(self, topic: str, queues: list[QueueData]) -> None:
        known = {broker for broker, _ in self.members}
        if topic not in self.topics and any(q.broker_name not in known for q in queues):
            return
        for q in queues:
            if q.broker_name not in known:
                return
            shape = (q.perm, q.read_queue_nums, q.write_queue_nums, q.topic_sys_flag)
            self.topics.setdefault(topic, {})[q.broker_name] = shape

    def delete_topic(self, topic: str, cluster: str | None) -> None:
        brokers = {*self.topics.get(topic, {}), *self.mappings.get(topic, {})}
        if cluster is not None:
            brokers &= self.clusters().get(cluster, set())
        for broker in brokers:
            self.forget(topic, broker)

    def set_perm(self, broker: str, change: Any) -> int:
        count = 0
        for queues in self.topics.values():
            if broker in queues:
                perm, *rest = queues[broker]
                queues[broker] = (change(perm), *rest)
                count += 1
        return count
