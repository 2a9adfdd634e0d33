"""The names that random steps use: few, so that steps affect the same objects."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Broker:
    """A broker group and the addresses of its members. A name belongs to one cluster, an address to one name."""

    name: str
    cluster: str
    addrs: tuple[str, ...]

    @property
    def static_topic(self) -> str:
        return f"static-{self.name}"

    @property
    def sync_topic(self) -> str:
        return f"rmq_sys_SYNC_BROKER_MEMBER_{self.name}"


CLUSTERS: Final = ("c0@@", "c/ü1@@")
# closed ports: a notification (905) is refused at once
BROKERS: Final = tuple(
    Broker(f"b{n}@@", CLUSTERS[n % 2], tuple(f"127.0.0.1:{10 * n + k + 1}" for k in range(3))) for n in range(4)
)
# the unit flags belong to the name: Java looks at one broker's entry, whichever its hash table has first
SHARED_TOPICS: Final = {"t0@@": 0, "t1@@": 1, "t2@@": 2, "t3@@": 3, "t/é4@@": 0, 'q"5@@': 0}
TOPICS: Final = (
    *SHARED_TOPICS,
    *(broker.static_topic for broker in BROKERS),
    *(broker.sync_topic for broker in BROKERS),
    *(broker.name for broker in BROKERS),
)
NAMESPACES: Final = ("ORDER_TOPIC_CONFIG", "ns0@@", "ns1@@")
ZONES: Final = ("Z1", "z1", "Z2", "")
