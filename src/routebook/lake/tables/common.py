"""The meaning of column names that several tables share: a sentence and an example."""

from typing import Final

COMMON: Final[dict[str, tuple[str, str]]] = {
    "ns": ("Id of the NameServer that wrote the events.", "ns-1"),
    "boot": ("Id of one start of the NameServer.", "6f1d2c84"),
    "cluster": ("Cluster of the broker.", "DefaultCluster"),
    "broker": ("Name of the broker group.", "broker-a"),
    "addr": ("Address of the broker that clients connect to.", "10.0.0.6:10911"),
    "day": ("Day in UTC.", "2026-01-31"),
    "topic": ("Name of the topic.", "orders"),
    "from_seq": ("Number of the event that began the row.", "1041"),
    "to_seq": ("Number of the event that ended the row; null while it is open.", "1187"),
    "member": ("Identifies the broker at this NameServer: number of its first event since a cold start.", "1041"),
    "ns_a": ("The NameServer of the pair whose id sorts first.", "ns-1"),
    "ns_b": ("The other NameServer of the pair.", "ns-2"),
}
