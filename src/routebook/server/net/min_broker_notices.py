"""Tells brokers who the least id of their group is now (905), one-way."""

from collections.abc import Container, Iterator
from typing import Final

from routebook.codes import FLAG_ONEWAY, RequestCode
from routebook.effects import NotifyMinBroker
from routebook.server.net.outbound import Link, Trouble
from routebook.wire.codec import encode
from routebook.wire.command import Command, SerializeType

_MAX_LINKS: Final = 4096


class Notices:
    """One link per broker address, opened when there is something to tell."""

    def __init__(self, *, opaques: Iterator[int], serialize_type: SerializeType, trouble: Trouble) -> None:
        self._opaques = opaques
        self._serialize_type = serialize_type
        self._trouble = trouble
        self._links: dict[str, Link] = {}
        self.own_addresses: Container[str] = ()  # a NameServer never calls itself; Java does, every 3 s

    def send(self, notice: NotifyMinBroker) -> None:
        """The same frame to each recipient, as in Java."""
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
        frame = encode(command, self._serialize_type)
        for address in notice.recipients:
            if address not in self.own_addresses:
                self._link(address).send(frame)

    def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()

    def _link(self, address: str) -> Link:
        link = self._links.get(address)
        if link is None:
            if len(self._links) >= _MAX_LINKS:
                self._forget_unused()
            link = self._links[address] = Link(address, trouble=self._trouble)
        return link

    def _forget_unused(self) -> None:
        for address in [address for address, link in self._links.items() if link.unused] or [next(iter(self._links))]:
            self._links.pop(address).close()
