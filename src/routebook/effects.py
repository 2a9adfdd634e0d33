"""What to do about it: the core decides and returns these, the shell performs them. Pure values."""

from typing import TypeAlias

import msgspec

from routebook.events import DownReason, RouteEvent


class NotifyMinBroker(msgspec.Struct, frozen=True, kw_only=True):
    """Tell these brokers, one-way, who the least id of their group is now (905)."""

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
    """Put this text on disk as the KV file before the request is acknowledged."""

    text: bytes


class SaveSettings(msgspec.Struct, frozen=True):
    """Put these keys on disk in the settings file before the request is acknowledged."""

    changed: dict[str, str]


class AskProduct(msgspec.Struct, frozen=True):
    """clusterTest: ask the product environment's NameServers for this topic and answer with what they say."""

    topic: str


RouteEffect: TypeAlias = NotifyMinBroker | CloseConnection
Effect: TypeAlias = RouteEffect | SaveKv | SaveSettings | AskProduct


class Change(msgspec.Struct, frozen=True):
    """What a change to the route tables came to: events to journal, effects to perform."""

    events: tuple[RouteEvent, ...] = ()
    effects: tuple[RouteEffect, ...] = ()
