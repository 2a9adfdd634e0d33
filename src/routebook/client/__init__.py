"""Async client for RocketMQ NameServers, Java and Routebook. Modules are imported on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from routebook.client.addresses import Address, addresses_from_environment, parse_addresses
    from routebook.client.calls import NameServerCalls
    from routebook.client.client import Everywhere, Identity, NameServerClient, OneNameServer
    from routebook.client.queues import MessageQueue, PublishQueues, publish_queues, subscribe_queues
    from routebook.client.requests import Registered, Request, VersionCheck
    from routebook.client.signing import Credentials
    from routebook.client.tls import trusted_tls, unverified_tls
    from routebook.client.watcher import LookupFailed, RouteChange, RouteWatcher, route_changed

__all__ = [
    "Address",
    "Credentials",
    "Everywhere",
    "Identity",
    "LookupFailed",
    "MessageQueue",
    "NameServerCalls",
    "NameServerClient",
    "OneNameServer",
    "PublishQueues",
    "Registered",
    "Request",
    "RouteChange",
    "RouteWatcher",
    "VersionCheck",
    "addresses_from_environment",
    "parse_addresses",
    "publish_queues",
    "route_changed",
    "subscribe_queues",
    "trusted_tls",
    "unverified_tls",
]

_NAMES_BY_MODULE: Final = {
    "addresses": ("Address", "addresses_from_environment", "parse_addresses"),
    "calls": ("NameServerCalls",),
    "client": ("Everywhere", "Identity", "NameServerClient", "OneNameServer"),
    "queues": ("MessageQueue", "PublishQueues", "publish_queues", "subscribe_queues"),
    "requests": ("Registered", "Request", "VersionCheck"),
    "signing": ("Credentials",),
    "tls": ("trusted_tls", "unverified_tls"),
    "watcher": ("LookupFailed", "RouteChange", "RouteWatcher", "route_changed"),
}
_MODULE_OF: Final = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
