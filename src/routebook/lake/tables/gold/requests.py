"""Declarations of the gold tables about requests: look-ups and admin requests."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

LOOKUP_DEMAND: Final = Table(
    name="lookup_demand",
    layer=Layer.GOLD,
    doc="Route look-ups per hour (UTC), topic and client",
    key=("hour", "ns", "topic", "client", "language", "version", "others"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    about="""
        The row with `others` counts the look-ups beyond the limit of distinct keys per minute; its topic and client are
        empty.
    """,
    columns="""
        hour timestamp -- Begin of the hour. | 2026-01-31 10:00:00
        ns string
        topic string
        client string -- Address of the client without its port. | 10.0.1.7
        language string -- Language of the client. | JAVA
        version int -- Protocol version of the client. | 493
        lookups bigint -- Number of look-ups. | 120
        misses bigint -- Look-ups for which there was no route. | 0
        bytes bigint -- Bytes of the answers. | 74400
        others boolean -- True for the row beyond the limit of distinct keys. | false
        day date
    """,
)
ADMIN_AUDIT: Final = Table(
    name="admin_audit",
    layer=Layer.GOLD,
    doc="Admin requests, allowed and denied: KV, settings, permissions, topics, brokers, masters",
    key=("ns", "seq", "target"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    about="""
        | action | target | before, after |
        |---|---|---|
        | kv_put, kv_deleted | namespace/key | the values |
        | setting_changed | the key | the values |
        | permission_wiped, permission_restored | the broker | number of topics, in `after` |
        | topic_deleted | the topic | the brokers that had it, in `before` |
        | topic_registered | the topic (request 217, not the registration of a broker) | its queues on that broker |
        | broker_deregistered | broker at address | |
        | master_elected | the broker set (request 1002 of an operator) | the masters |
        | no_master_elected | the broker set | the master, which stays |
        | replicas_cleaned | the broker set (request 1011) | the replicas; no `after` if the set was removed |
        | denied | the request code | `why` has the reason, `allowed` is false |
    """,
    columns="""
        at timestamp -- Time of the request by the clock of the NameServer. | 2026-01-31 10:00:05
        ns string
        peer string -- Address of the caller. | 10.0.0.9:51312
        who string -- Authenticated identity of the caller; null without authentication. | alice
        action string -- What the request did. | setting_changed
        target string -- What the request changed. | enableTopicList
        before string -- Value before the change. | true
        after string -- Value after the change. | false
        allowed boolean -- False if the request was denied. | true
        code int -- Request code. | 318
        why string -- Reason of a denial; null for allowed requests. | not an admin
        day date
        seq bigint -- Number of the event. | 1041
    """,
)
