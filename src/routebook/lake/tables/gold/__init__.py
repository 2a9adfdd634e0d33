"""Declarations of the gold tables: the tables that users query."""

from routebook.lake.tables.gold.brokers import (
    BROKER_AVAILABILITY_DAILY,
    BROKER_FLAPS,
    BROKER_SESSIONS,
    DETECTOR_TRADEOFF,
    HEARTBEAT_QUALITY,
    OUTAGE_IMPACT,
)
from routebook.lake.tables.gold.controller import ELECTIONS, SYNC_STATE
from routebook.lake.tables.gold.requests import ADMIN_AUDIT, LOOKUP_DEMAND
from routebook.lake.tables.gold.routes import CONVERGENCE, NS_DIVERGENCE, ROUTE_TIMELINE, TOPIC_PLACEMENT

__all__ = [
    "ADMIN_AUDIT",
    "BROKER_AVAILABILITY_DAILY",
    "BROKER_FLAPS",
    "BROKER_SESSIONS",
    "CONVERGENCE",
    "DETECTOR_TRADEOFF",
    "ELECTIONS",
    "HEARTBEAT_QUALITY",
    "LOOKUP_DEMAND",
    "NS_DIVERGENCE",
    "OUTAGE_IMPACT",
    "ROUTE_TIMELINE",
    "SYNC_STATE",
    "TOPIC_PLACEMENT",
]
