"""An async client of any RocketMQ NameServer, Java's or Routebook's."""

from routebook.client.addresses import Address, addresses_from_environment, parse_addresses
from routebook.client.answers import Registered, VersionCheck
from routebook.client.calls import NameServerCalls
from routebook.client.client import Everywhere, Identity, NameServerClient, OneNameServer
from routebook.client.queues import MessageQueue, PublishQueues, publish_queues, subscribe_queues
from routebook.client.requests import Request
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
