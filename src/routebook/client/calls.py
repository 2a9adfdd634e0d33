"""One typed method for each NameServer request."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeVar

from routebook.client import requests
from routebook.client.requests import Registered, Request, VersionCheck
from routebook.codes import RequestCode
from routebook.model import ClusterInfo, DataVersion, MemberGroup, QueueData, Registration, TopicList, TopicRoute
from routebook.wire import reply_bodies
from routebook.wire.bodies import encode_data_version, encode_route
from routebook.wire.command import Command

T = TypeVar("T")


class NameServerCalls(ABC):
    """Typed requests. They raise RequestError for an error response, and ConnectionFailed without a response."""

    @abstractmethod
    async def call(self, command: Command, *, timeout_s: float | None = None) -> Command:
        """Send any command, with a new opaque and a signature, and return the response with any code."""

    @abstractmethod
    async def ask(self, request: Request[T], *, timeout_s: float | None = None) -> T:
        """Send a request and return the decoded response."""

    @abstractmethod
    async def tell(self, request: Request[T], *, timeout_s: float | None = None) -> None:
        """Send a one-way request, which has no response."""

    async def route(self, topic: str, *, zone: str | None = None) -> TopicRoute:
        """Return the route of a topic; with a zone, only brokers of that zone or without a master.

        Raises TopicNotExist.
        """
        ext = {"topic": topic} | ({} if zone is None else {"__ZONE_MODE": "true", "__ZONE_NAME": zone})
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        return await self.ask(Request(code, lambda answer: reply_bodies.decode_route(answer.body), ext))

    async def cluster_info(self) -> ClusterInfo:
        """Return all brokers and clusters."""
        code = RequestCode.GET_BROKER_CLUSTER_INFO
        return await self.ask(Request(code, lambda answer: reply_bodies.decode_cluster_info(answer.body)))

    async def topics(self) -> list[str]:
        """Return all topics."""
        return await self.ask(Request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, requests.read_topics))

    async def topics_of_cluster(self, cluster: str) -> list[str]:
        """Return the topics of one cluster; an unknown cluster has none."""
        return await self.ask(Request(RequestCode.GET_TOPICS_BY_CLUSTER, requests.read_topics, {"cluster": cluster}))

    async def system_topics(self) -> TopicList:
        """Return the names of clusters and brokers, and the address of a broker that has the other system topics."""
        code = RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS
        return await self.ask(Request(code, lambda answer: reply_bodies.decode_topic_list(answer.body)))

    async def unit_topics(self) -> list[str]:
        """Return topics with the unit flag."""
        return await self.ask(Request(RequestCode.GET_UNIT_TOPIC_LIST, requests.read_topics))

    async def unit_subscribed_topics(self) -> list[str]:
        """Return topics that units subscribe to."""
        return await self.ask(Request(RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST, requests.read_topics))

    async def unit_subscribed_plain_topics(self) -> list[str]:
        """Return topics that units subscribe to and that are not unit topics."""
        return await self.ask(Request(RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, requests.read_topics))

    async def get_kv(self, namespace: str, key: str) -> str:
        """Return one value. Raises NotFound."""
        ext = {"namespace": namespace, "key": key}
        return await self.ask(Request(RequestCode.GET_KV_CONFIG, requests.read_value, ext))

    async def put_kv(self, namespace: str, key: str, value: str) -> None:
        """Set one value on one NameServer; `everywhere` sets it on all."""
        ext = {"namespace": namespace, "key": key, "value": value}
        await self.ask(Request(RequestCode.PUT_KV_CONFIG, requests.read_nothing, ext))

    async def delete_kv(self, namespace: str, key: str) -> None:
        """Delete one value on one NameServer; a missing value is not an error."""
        ext = {"namespace": namespace, "key": key}
        await self.ask(Request(RequestCode.DELETE_KV_CONFIG, requests.read_nothing, ext))

    async def list_kv(self, namespace: str) -> dict[str, str]:
        """Return all values of a namespace. Raises NotFound if it never had one."""
        code, ext = RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace}
        return await self.ask(Request(code, lambda answer: reply_bodies.decode_kv_table(answer.body), ext))

    async def settings(self) -> dict[str, str]:
        """Return the settings of the NameServer."""
        return await self.ask(Request(RequestCode.GET_NAMESRV_CONFIG, requests.read_settings))

    async def update_settings(self, changes: Mapping[str, str]) -> str | None:
        """Change settings of one NameServer. Raises Denied.

        Java ignores unknown settings; Routebook returns a remark about rejected ones.
        """
        from routebook.properties import edit  # noqa: PLC0415 - rarely needed, compiles patterns

        body = edit("", changes).encode()  # escaped: a server reads non-ASCII bytes as several characters
        return await self.ask(Request(RequestCode.UPDATE_NAMESRV_CONFIG, lambda answer: answer.remark, None, body))

    async def wipe_write(self, broker: str) -> int:
        """Remove the write permission of a broker on one NameServer; return its number of topics."""
        code, read = RequestCode.WIPE_WRITE_PERM_OF_BROKER, requests.read_count("wipeTopicCount")
        return await self.ask(Request(code, read, {"brokerName": broker}))

    async def restore_write(self, broker: str) -> int:
        """Restore the write permission of a broker on one NameServer; return its number of topics."""
        code, read = RequestCode.ADD_WRITE_PERM_OF_BROKER, requests.read_count("addTopicCount")
        return await self.ask(Request(code, read, {"brokerName": broker}))

    async def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete a topic in one cluster or in all; a broker that still has it registers it again."""
        ext = {"topic": topic} | ({} if cluster is None else {"clusterName": cluster})
        await self.ask(Request(RequestCode.DELETE_TOPIC_IN_NAMESRV, requests.read_nothing, ext))

    async def register_topic(self, topic: str, queues: Sequence[QueueData]) -> None:
        """Register the queues of a topic on registered brokers; an unknown broker ends it without an error."""
        route = TopicRoute(broker_datas=[], filter_server_table={}, queue_datas=list(queues))
        code, body = RequestCode.REGISTER_TOPIC_IN_NAMESRV, encode_route(route, standard=False)
        await self.ask(Request(code, requests.read_nothing, {"topic": topic}, body))

    async def member_group(self, cluster: str, broker: str) -> MemberGroup:
        """Return the members of a broker group; an unknown group has none."""
        code, ext = RequestCode.GET_BROKER_MEMBER_GROUP, {"brokerName": broker, "clusterName": cluster}
        return await self.ask(Request(code, lambda answer: reply_bodies.decode_member_group(answer.body), ext))

    async def query_data_version(
        self, version: DataVersion, *, cluster: str, broker: str, addr: str, broker_id: int
    ) -> VersionCheck:
        """Compare a version of a broker's topics with the NameServer's; also renews the lease."""
        ext, body = _broker(cluster, broker, addr, broker_id), encode_data_version(version)
        return await self.ask(Request(RequestCode.QUERY_DATA_VERSION, requests.read_version_check, ext, body))

    async def register_broker(self, registration: Registration, *, compressed: bool = False) -> Registered:
        """Register a broker for the lifetime of this connection."""
        from routebook.client import registration as encoding  # noqa: PLC0415 - needed by brokers only

        body = encoding.encode_registration_body(registration.body, compressed=compressed)
        ext = encoding.registration_fields(registration, body, compressed=compressed)
        return await self.ask(Request(RequestCode.REGISTER_BROKER, requests.read_registered, ext, body))

    async def unregister_broker(self, *, cluster: str, broker: str, addr: str, broker_id: int) -> None:
        """Unregister a broker; the NameServer responds before it is done."""
        ext = _broker(cluster, broker, addr, broker_id)
        await self.ask(Request(RequestCode.UNREGISTER_BROKER, requests.read_nothing, ext))

    async def heartbeat(self, *, cluster: str, broker: str, addr: str, oneway: bool = False) -> None:
        """Renew a broker's lease; an unknown broker is not an error. Brokers send it one-way."""
        ext = {"brokerAddr": addr, "brokerName": broker, "clusterName": cluster}
        request = Request(RequestCode.BROKER_HEARTBEAT, requests.read_nothing, ext)
        await (self.tell(request) if oneway else self.ask(request))


def _broker(cluster: str, broker: str, addr: str, broker_id: int) -> dict[str, str]:
    return {"brokerAddr": addr, "brokerId": str(broker_id), "brokerName": broker, "clusterName": cluster}
