"""Effects: actions that the core returns and the server performs. Pure values."""

from typing import TypeAlias

import msgspec

from routebook.events import DownReason, RouteEvent


class NotifyMinBroker(msgspec.Struct, frozen=True, kw_only=True):
    """Notify these brokers, one-way, of the lowest broker id of their group (905)."""

    recipients: tuple[str, ...]
    min_broker_id: int
    min_broker_addr: str
    offline_addr: str | None = None
    ha_addr: str | None = None


class CloseConnection(msgspec.Struct, frozen=True):
    """Close this connection."""

    connection: int
    reason: DownReason


class SaveKv(msgspec.Struct, frozen=True):
    """Write the KV table to its file before the request is acknowledged."""


class SaveSettings(msgspec.Struct, frozen=True):
    """Write these keys to the settings file before the request is acknowledged."""

    changed: dict[str, str]


class AskProduct(msgspec.Struct, frozen=True):
    """clusterTest: look this topic up in the production environment, and reply with the result."""

    topic: str


RouteEffect: TypeAlias = NotifyMinBroker | CloseConnection
Effect: TypeAlias = RouteEffect | SaveKv | SaveSettings | AskProduct


class Change(msgspec.Struct, frozen=True):
    """The result of a change to the route tables: events to journal, effects to perform."""

    events: tuple[RouteEvent, ...] = ()
    effects: tuple[RouteEffect, ...] = ()
