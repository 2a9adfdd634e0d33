"""Route tables: brokers, their leases and groups, topics and their queues."""

from routebook.routes.table import RouteTable

__all__ = ["RouteTable"]
