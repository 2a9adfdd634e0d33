"""Notifies brokers about the lowest broker id of their group (905), one-way."""

from collections.abc import Callable, Container, Iterator

from routebook.codes import FLAG_ONEWAY, RequestCode
from routebook.effects import NotifyMinBroker
from routebook.server.net.outbound.oneway_sender import OnewaySender
from routebook.wire.command import Command, SerializeType


class MinBrokerNotices:
    """Sends the notices of one NameServer."""

    def __init__(
        self, *, opaques: Iterator[int], serialize_type: SerializeType, on_failure: Callable[[str, str], None]
    ) -> None:
        """`on_failure` receives an address and why notices could not be sent to it."""
        self._opaques = opaques
        self._sender = OnewaySender(serialize_type=serialize_type, on_failure=on_failure)
        self.own_addresses: Container[str] = ()  # this NameServer never connects to itself; Java does, every 3 s

    def send(self, notice: NotifyMinBroker) -> None:
        """Send the same frame to each recipient, as in Java."""
        fields = {  # in the order of Java's HashMap
            "haBrokerAddr": notice.ha_addr,
            "offlineBrokerAddr": notice.offline_addr,
            "minBrokerAddr": notice.min_broker_addr,
            "minBrokerId": str(notice.min_broker_id),
        }
        command = Command(
            code=RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE,
            opaque=next(self._opaques) & 0x7FFFFFFF,
            flag=FLAG_ONEWAY,
            ext={key: value for key, value in fields.items() if value is not None},
        )
        for address in notice.recipients:
            if address not in self.own_addresses:
                self._sender.send(address, command)

    async def aclose(self) -> None:
        await self._sender.aclose()
