"""A broker's state and the requests it sends to a NameServer, byte for byte as a 5.5.0 broker sends them. Pure."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from routebook.client.registration import encode_registration_body, registration_fields
from routebook.codes import FLAG_ONEWAY, MASTER_ID, SYNC_BROKER_MEMBER_PREFIX, RequestCode
from routebook.fleet.population import Member
from routebook.fleet.scenario import BrokerTerms
from routebook.fleet.system_topics import system_topics
from routebook.model import BrokerKey, DataVersion, QueueData, RegisterBody, Registration, TopicConfig, TopicRoute
from routebook.wire.bodies import encode_data_version, encode_route
from routebook.wire.command import Command

NOT_ACTIVE_MS: Final = 10_000  # brokerNotActiveTimeoutMillis: sent if acting masters are enabled
_NO_MAPPINGS: Final = b'"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":0}'
_MAPPINGS_AT: Final = b'"mappingDataVersion":{"counter":0,"stateVersion":0,"timestamp":%d}'


class BrokerRequests:
    """One broker's topics, data version and id, and its requests. Commands have opaque 0; the sender sets it."""

    def __init__(
        self,
        member: Member,
        terms: BrokerTerms,
        topics: Iterable[TopicConfig],
        *,
        now_ms: int,
        scale: float = 1.0,
        addr: str | None = None,
        ha_addr: str | None = None,
    ) -> None:
        """`scale` divides the heartbeat timeout in the request; `addr` overrides the address of `member`."""
        self.member = member
        self.addr = addr or member.addr
        self.broker_id = member.broker_id
        self.key = BrokerKey(member.cluster, self.addr)
        self.version = DataVersion(counter=0, state_version=0, timestamp=now_ms)
        self.topics = {topic.topic_name: topic for topic in system_topics(member.cluster, member.broker)}
        self.topics |= {topic.topic_name: topic for topic in topics}
        self._terms = terms
        self._ha_addr = ha_addr or member.ha_addr
        self._acting = terms.acting_master != "off"
        self._timeout_ms = max(1, round(NOT_ACTIVE_MS / scale)) if self._acting else None
        self._encoded_registration: list[tuple[dict[str, str], bytes]] | None = None

    # state

    def put_topics(self, topics: Iterable[TopicConfig], now_ms: int) -> None:
        """Create or change topics."""
        self.topics |= {topic.topic_name: topic for topic in topics}
        self._changed(now_ms)

    def delete_topics(self, names: Iterable[str], now_ms: int) -> None:
        """Delete topics. Java: sends nothing; they are missing from the next registration."""
        for name in names:
            self.topics.pop(name, None)
        self._changed(now_ms)

    def promote(self, now_ms: int) -> int:
        """Become master in a new epoch of the group; return the previous broker id."""
        previous, self.broker_id = self.broker_id, MASTER_ID
        self.version = msgspec.structs.replace(self.version, state_version=self.version.state_version + 1)
        self._changed(now_ms)
        return previous

    def demote(self, broker_id: int, master: "BrokerRequests") -> None:
        """Become a slave of `master`."""
        self.broker_id = broker_id
        self.sync_from(master)

    def sync_from(self, master: "BrokerRequests") -> None:
        """Java: SlaveSynchronize, a slave copies its master's topics and data version."""
        self.topics = dict(master.topics)
        self.version = master.version
        self._encoded_registration = None

    def _changed(self, now_ms: int) -> None:
        counter = (self.version.counter or 0) + 1
        self.version = msgspec.structs.replace(self.version, counter=counter, timestamp=now_ms)
        self._encoded_registration = None

    # requests

    def registration(self, now_ms: int | None = None) -> list[Command]:
        """103 with all topics: one request, or several with split registration.

        A real broker puts the current time into its empty mapping table, so no two of its registrations are equal;
        with None it is omitted.
        """
        if self._encoded_registration is None:
            self._encoded_registration = [self._encoded(topics) for topics in self._parts()]
        return [self._register(fields, body, now_ms) for fields, body in self._encoded_registration]

    def incremental(self, names: Sequence[str], now_ms: int | None = None) -> list[Command]:
        """After a change of topics: 103 with these topics only, or one 217 per topic."""
        topics = [self.topics[name] for name in names]
        if self._terms.single_topic_register:
            return [self._register_topic(topic) for topic in topics]
        fields, body = self._encoded(topics)
        return [self._register(fields, body, now_ms)]

    def unregistration(self) -> Command:
        """104."""
        return Command(RequestCode.UNREGISTER_BROKER, 0, ext=self._names())

    def version_query(self, *, oneway: bool) -> Command:
        """322: a query, or one-way a heartbeat."""
        flag = FLAG_ONEWAY if oneway else 0
        return Command(
            RequestCode.QUERY_DATA_VERSION, 0, flag, ext=self._names(), body=encode_data_version(self.version)
        )

    def heartbeat(self) -> Command:
        """The one-way heartbeat of acting-master mode: 322, or 904 without compatibility with old NameServers."""
        if self._terms.acting_master == "compatible":
            return self.version_query(oneway=True)
        names = self._names()
        del names["brokerId"]
        return Command(RequestCode.BROKER_HEARTBEAT, 0, FLAG_ONEWAY, ext=names)

    def member_query(self) -> Command:
        """Query the members of the group: 105 for a special topic, or 901."""
        broker = self.member.broker
        if self._terms.acting_master == "compatible":
            return Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, 0, ext={"topic": SYNC_BROKER_MEMBER_PREFIX + broker})
        ext: dict[str, str | None] = {"brokerName": broker, "clusterName": self.member.cluster}
        return Command(RequestCode.GET_BROKER_MEMBER_GROUP, 0, ext=ext)

    def cluster_query(self) -> Command:
        """106."""
        return Command(RequestCode.GET_BROKER_CLUSTER_INFO, 0)

    def _names(self) -> dict[str, str | None]:
        member = self.member
        return {
            "brokerAddr": self.addr,
            "brokerId": str(self.broker_id),
            "brokerName": member.broker,
            "clusterName": member.cluster,
        }

    def _parts(self) -> list[list[TopicConfig]]:
        """Java: BrokerController.registerBrokerAll: parts of the split size, then the rest."""
        topics = list(self.topics.values())
        size = self._terms.split
        if not size:
            return [topics]
        whole = len(topics) // size * size
        return [*(topics[at : at + size] for at in range(0, whole, size)), topics[whole:]]

    def _encoded(self, topics: Sequence[TopicConfig]) -> tuple[dict[str, str], bytes]:
        registration = Registration(
            cluster=self.member.cluster,
            broker=self.member.broker,
            addr=self.addr,
            broker_id=self.broker_id,
            ha_addr=self._ha_addr,
            timeout_ms=self._timeout_ms,
            acting_master=self._acting,
            zone=self.member.zone,
            body=RegisterBody(topics=tuple(topics), data_version=self.version, mappings={}, filter_servers=()),
        )
        body = encode_registration_body(registration.body, compressed=self._terms.compressed)
        # Java: with compressedRegister=true the body is deflated, although the header says it is not
        return registration_fields(registration, body, compressed=False), body

    def _register(self, fields: dict[str, str], body: bytes, now_ms: int | None) -> Command:
        ext: dict[str, str | None] = {**fields}
        if now_ms is not None and not self._terms.compressed:
            body = body.replace(_NO_MAPPINGS, _MAPPINGS_AT % now_ms, 1)
            ext["bodyCrc32"] = str(zlib.crc32(body) & 0x7FFFFFFF)
        return Command(RequestCode.REGISTER_BROKER, 0, ext=ext, body=body)

    def _register_topic(self, topic: TopicConfig) -> Command:
        queues = QueueData(
            broker_name=self.member.broker,
            perm=topic.perm,
            read_queue_nums=topic.read_queue_nums,
            topic_sys_flag=topic.topic_sys_flag,
            write_queue_nums=topic.write_queue_nums,
        )
        shape = TopicRoute(broker_datas=[], filter_server_table={}, queue_datas=[queues])
        body = encode_route(shape, standard=False)
        return Command(RequestCode.REGISTER_TOPIC_IN_NAMESRV, 0, ext={"topic": topic.topic_name}, body=body)
