"""The route tables: brokers, their leases and groups, topics and where they live."""

from routebook.routes.table import RouteTable

__all__ = ["RouteTable"]
