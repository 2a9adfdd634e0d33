"""The state of a run: what the harness must wait for, and which steps would corrupt Java's tables."""

from dataclasses import dataclass, field
from typing import Any

from tests.support.differential.steps import PLACEHOLDER, Register


@dataclass(frozen=True)
class Lease:
    """A broker that is registered at both servers, and its connection."""

    conn: str
    state_version: int


@dataclass(frozen=True)
class Group:
    """A broker group as in 106."""

    cluster: str
    members: dict[int, str]
    acting: bool
    zone: str | None

    @classmethod
    def parse(cls, data: dict[str, Any]) -> "Group":
        members = {int(key.removeprefix("bare:")): addr for key, addr in data["brokerAddrs"].items()}
        return cls(data["cluster"], members, data["enableActingMaster"], data.get("zoneName"))


@dataclass
class State:
    """All names are final, without placeholders."""

    tag: str
    leases: dict[tuple[str, str], Lease] = field(default_factory=dict)
    former: dict[tuple[str, str], set[str]] = field(default_factory=dict)  # connections that each broker ever used
    groups: dict[str, Group] = field(default_factory=dict)  # as they were before the step at hand
    mapped: set[tuple[str, str]] = field(default_factory=set)  # (topic, broker) of all static mappings ever sent
    hosted: set[tuple[str, str]] = field(default_factory=set)  # those of them whose topic the broker has just now
    forgotten_mappings: set[tuple[str, str]] = field(default_factory=set)  # (topic, broker) gone, but not from Java
    restart_settings: set[str] = field(default_factory=set)  # set by 318, effective after a restart only

    def fill(self, name: str) -> str:
        return name.replace(PLACEHOLDER, self.tag)

    def key(self, step: Register) -> tuple[str, str]:
        return self.fill(step.cluster), self.fill(step.addr)

    def leases_of(self, conn: str) -> list[tuple[str, str]]:
        """Brokers that are removed when this connection closes."""
        return [key for key, lease in self.leases.items() if lease.conn == conn]
