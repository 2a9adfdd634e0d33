"""One method for each request that a NameServer answers, whoever performs it: one of several, or a certain one."""

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
    """Typed requests. All raise a RequestError where the answer is no, and a ConnectionFailed where there is none."""

    @abstractmethod
    async def call(self, command: Command, *, timeout_s: float | None = None) -> Command:
        """Send any command (its opaque is replaced, and it is signed) and give the answer, whatever its code."""

    @abstractmethod
    async def ask(self, request: Request[T], *, timeout_s: float | None = None) -> T:
        """Send a request and give its answer as a value."""

    @abstractmethod
    async def tell(self, request: Request[T], *, timeout_s: float | None = None) -> None:
        """Send a request one-way: nothing is answered."""

    async def route(self, topic: str, *, zone: str | None = None) -> TopicRoute:
        """Where a topic lives; TopicNotExist where it does nowhere."""
        return await self.ask(requests.route(topic, zone=zone))

    async def cluster_info(self) -> ClusterInfo:
        """All brokers and clusters."""
        return await self.ask(requests.cluster_info())

    async def topics(self) -> list[str]:
        """All topics."""
        return await self.ask(requests.topics())

    async def topics_of_cluster(self, cluster: str) -> list[str]:
        """The topics of one cluster; none where the cluster is not known."""
        return await self.ask(requests.topics_of_cluster(cluster))

    async def system_topics(self) -> TopicList:
        """The names of clusters and brokers, and the address of a broker that knows the other system topics."""
        return await self.ask(requests.system_topics())

    async def unit_topics(self) -> list[str]:
        """Topics with the unit flag."""
        return await self.ask(requests.unit_topics())

    async def unit_subscribed_topics(self) -> list[str]:
        """Topics that units subscribe to."""
        return await self.ask(requests.unit_subscribed_topics())

    async def unit_subscribed_plain_topics(self) -> list[str]:
        """Topics that units subscribe to and that are no unit topics."""
        return await self.ask(requests.unit_subscribed_plain_topics())

    async def get_kv(self, namespace: str, key: str) -> str:
        """One value; NotFound where there is none."""
        return await self.ask(requests.get_kv(namespace, key))

    async def put_kv(self, namespace: str, key: str, value: str) -> None:
        """Set one value, at one NameServer: each has its own. See `everywhere`."""
        await self.ask(requests.put_kv(namespace, key, value))

    async def delete_kv(self, namespace: str, key: str) -> None:
        """Remove one value, at one NameServer; fine where there is none."""
        await self.ask(requests.delete_kv(namespace, key))

    async def list_kv(self, namespace: str) -> dict[str, str]:
        """All values of a namespace; NotFound where it never had one."""
        return await self.ask(requests.list_kv(namespace))

    async def settings(self) -> dict[str, str]:
        """The NameServer's settings."""
        return await self.ask(requests.settings())

    async def update_settings(self, changes: Mapping[str, str]) -> str | None:
        """Change settings of one NameServer; Denied for those on its black list. Says what was not taken, if it can."""
        return await self.ask(requests.update_settings(changes))

    async def wipe_write(self, broker: str) -> int:
        """Take a broker's topics out of writing, at one NameServer; how many topics it has there."""
        return await self.ask(requests.wipe_write(broker))

    async def restore_write(self, broker: str) -> int:
        """Make a broker's topics writable again, at one NameServer; how many topics it has there."""
        return await self.ask(requests.restore_write(broker))

    async def delete_topic(self, topic: str, *, cluster: str | None = None) -> None:
        """Forget a topic, in one cluster or in all; a broker that still has it brings it back."""
        await self.ask(requests.delete_topic(topic, cluster=cluster))

    async def register_topic(self, topic: str, queues: Sequence[QueueData]) -> None:
        """Announce a topic's queues on brokers that are registered."""
        await self.ask(requests.register_topic(topic, queues))

    async def member_group(self, cluster: str, broker: str) -> MemberGroup:
        """The members of a broker group; none where it is not known."""
        return await self.ask(requests.member_group(cluster, broker))

    async def query_data_version(
        self, version: DataVersion, *, cluster: str, broker: str, addr: str, broker_id: int
    ) -> VersionCheck:
        """Compare a broker's topic version with what the NameServer has."""
        return await self.ask(
            requests.query_data_version(version, cluster=cluster, broker=broker, addr=addr, broker_id=broker_id)
        )

    async def register_broker(self, registration: Registration, *, compressed: bool = False) -> Registered:
        """Register a broker for as long as this connection lives."""
        return await self.ask(requests.register_broker(registration, compressed=compressed))

    async def unregister_broker(self, *, cluster: str, broker: str, addr: str, broker_id: int) -> None:
        """Take a broker out; the NameServer answers first and does it then."""
        await self.ask(requests.unregister_broker(cluster=cluster, broker=broker, addr=addr, broker_id=broker_id))

    async def heartbeat(self, *, cluster: str, broker: str, addr: str, oneway: bool = False) -> None:
        """Renew a broker's lease; also answered where the broker is not known. Brokers send it one-way."""
        request = requests.heartbeat(cluster=cluster, broker=broker, addr=addr)
        await (self.tell(request) if oneway else self.ask(request))
