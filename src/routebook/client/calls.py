"""One typed method for each NameServer request."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeVar

from routebook.client import requests
from routebook.client.answers import Registered, VersionCheck
from routebook.client.requests import Request
from routebook.model import ClusterInfo, DataVersion, MemberGroup, QueueData, Registration, TopicList, TopicRoute
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
        """Return the route of a topic. Raises TopicNotExist."""
        return await self.ask(requests.route(topic, zone=zone))

    async def cluster_info(self) -> ClusterInfo:
        """Return all brokers and clusters."""
        return await self.ask(requests.cluster_info())

    async def topics(self) -> list[str]:
        """Return all topics."""
        return await self.ask(requests.topics())

    async def topics_of_cluster(self, cluster: str) -> list[str]:
        """Return the topics of one cluster; an unknown cluster has none."""
        return await self.ask(requests.topics_of_cluster(cluster))

    async def system_topics(self) -> TopicList:
        """Return the names of clusters and brokers, and the address of a broker that has the other system topics."""
        return await self.ask(requests.system_topics())

    async def unit_topics(self) -> list[str]:
        """Return topics with the unit flag."""
        return await self.ask(requests.unit_topics())

    async def unit_subscribed_topics(self) -> list[str]:
        """Return topics that units subscribe to."""
        return await self.ask(requests.unit_subscribed_topics())

    async def unit_subscribed_plain_topics(self) -> list[str]:
        """Return topics that units subscribe to and that are not unit topics."""
        return await self.ask(requests.unit_subscribed_plain_topics())

    async def get_kv(self, namespace: str, key: str) -> str:
        """Return one value. Raises NotFound."""
        return await self.ask(requests.get_kv(namespace, key))

    async def put_kv(self, namespace: str, key: str, value: str) -> None:
        """Set one value on one NameServer; `everywhere` sets it on all."""
        await self.ask(requests.put_kv(namespace, key, value))

    async def delete_kv(self, namespace: str, key: str) -> None:
        """Delete one value on one NameServer; a missing value is not an error."""
        await self.ask(requests.delete_kv(namespace, key))

    async def list_kv(self, namespace: str) -> dict[str, str]:
        """Return all values of a namespace. Raises NotFound if it never had one."""
        return await self.ask(requests.list_kv(namespace))

    async def settings(self) -> dict[str, str]:
        """Return the settings of the NameServer."""
        return await self.ask(requests.settings())

    async def update_settings(self, changes: Mapping[str, str]) -> str | None:
        """Change settings of one NameServer; Routebook returns a remark about rejected ones. Raises Denied."""
        return await self.ask(requests.update_settings(changes))

    async def wipe_write(self, broker: str) -> int:
        """Remove the write permission of a broker on one NameServer; return its number of topics."""
        return await self.ask(requests.wipe_write(broker))

    async def restore_write(self, broker: str) -> int:
        """Restore the write permission of a broker on one NameServer; return its number of topics."""
        return await self.ask(requests.restore_write(broker))

    async def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Delete a topic in one cluster or in all; a broker that still has it registers it again."""
        await self.ask(requests.delete_topic(topic, cluster=cluster))

    async def register_topic(self, topic: str, queues: Sequence[QueueData]) -> None:
        """Register the queues of a topic on registered brokers."""
        await self.ask(requests.register_topic(topic, queues))

    async def member_group(self, cluster: str, broker: str) -> MemberGroup:
        """Return the members of a broker group; an unknown group has none."""
        return await self.ask(requests.member_group(cluster, broker))

    async def query_data_version(
        self, version: DataVersion, *, cluster: str, broker: str, addr: str, broker_id: int
    ) -> VersionCheck:
        """Compare a version of a broker's topics with the NameServer's."""
        return await self.ask(
            requests.query_data_version(version, cluster=cluster, broker=broker, addr=addr, broker_id=broker_id)
        )

    async def register_broker(self, registration: Registration, *, compressed: bool = False) -> Registered:
        """Register a broker for the lifetime of this connection."""
        return await self.ask(requests.register_broker(registration, compressed=compressed))

    async def unregister_broker(self, *, cluster: str, broker: str, addr: str, broker_id: int) -> None:
        """Unregister a broker; the NameServer responds before it is done."""
        await self.ask(requests.unregister_broker(cluster=cluster, broker=broker, addr=addr, broker_id=broker_id))

    async def heartbeat(self, *, cluster: str, broker: str, addr: str, oneway: bool = False) -> None:
        """Renew a broker's lease; an unknown broker is not an error. Brokers send it one-way."""
        request = requests.heartbeat(cluster=cluster, broker=broker, addr=addr)
        await (self.tell(request) if oneway else self.ask(request))
