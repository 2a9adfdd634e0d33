"""Remembers each broker's last registration, so that repeating it or changing a few of its topics is cheap.

the same request, group unchanged    only the lease is renewed: the body is hashed, not decoded
a similar body                       only the topics that differ are decoded and compared with the tables
"""

from collections.abc import Sequence
from typing import NamedTuple

from routebook.model import BrokerKey, RegisterResult, Registration
from routebook.routes import RouteTable
from routebook.routes.announcements import Announcement
from routebook.routes.registration import Registered
from routebook.wire.register_body import DecodedBody
from routebook.wire.topic_blocks import TopicBlock
from routebook.wire.topic_cache import TopicCache


class _LastRequest(NamedTuple):
    fingerprint: str
    broker: str
    group_revision: int
    result: RegisterResult


class _LastTable(NamedTuple):
    blocks: Sequence[TopicBlock]
    announcement: Announcement


class RegistrationCache:
    """The last registrations of all brokers of one NameServer."""

    __slots__ = ("_requests", "_tables", "topics")

    def __init__(self) -> None:
        self.topics = TopicCache()
        self._requests: dict[BrokerKey, _LastRequest] = {}
        self._tables: dict[str, _LastTable] = {}  # by broker name: what the group's leader announced

    def renew(
        self, routes: RouteTable, key: BrokerKey, *, fingerprint: str, connection: int, now_ms: int
    ) -> RegisterResult | None:
        """Renew the lease if the request equals the last one and would change nothing; None: register it."""
        last = self._requests.get(key)
        if last is None or last.fingerprint != fingerprint:
            return None
        renewed = routes.renew(key, broker=last.broker, since=last.group_revision, connection=connection, now_ms=now_ms)
        return last.result if renewed else None

    def is_renewable(self, routes: RouteTable, key: BrokerKey) -> bool:
        """Whether the last request of this broker, repeated, would only renew its lease."""
        last = self._requests.get(key)
        group = None if last is None else routes.group(last.broker)
        return last is not None and group is not None and group.revision == last.group_revision

    def similar_table(self, routes: RouteTable, *, broker: str, cluster: str) -> Sequence[TopicBlock]:
        """The last table of the broker, or of another one of its cluster, which usually has the same topics."""
        table = self._tables.get(broker)
        if table is None:
            newest = next(reversed(routes.cluster_table.get(cluster, {})), "")
            table = self._tables.get(newest)
        return () if table is None else table.blocks

    def last_announcement(self, broker: str) -> Announcement | None:
        """The state after the broker's own last table, which `similar_table` returns; None if it has none."""
        last = self._tables.get(broker)
        return None if last is None else last.announcement

    def remember(
        self, registration: Registration, decoded: DecodedBody, registered: Registered, *, fingerprint: str
    ) -> None:
        """Store what the next registration of the broker is compared with."""
        result, key, broker = registered.result, registration.key, registration.broker
        if result is None or registered.group_revision is None:
            return
        if all(info.bname in (None, broker) for info in registration.body.mappings.values()):
            self._requests[key] = _LastRequest(fingerprint, broker, registered.group_revision, result)
        else:  # mappings of another group may be deleted while this one stays unchanged
            self._requests.pop(key, None)
        if registered.announcement is not None and decoded.table is not None:
            self._tables[broker] = _LastTable(decoded.table.blocks, registered.announcement)

    def forget_request(self, key: BrokerKey) -> None:
        """A broker left."""
        self._requests.pop(key, None)

    def forget_table(self, broker: str) -> None:
        """The last broker of a group left."""
        self._tables.pop(broker, None)
