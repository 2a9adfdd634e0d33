"""The body of 1006 as a client reads it: the replicas of each set, from a Java or a Routebook Controller."""

from typing import Final

import msgspec

from routebook.controller.state import BrokerSet, Replica


class ReplicaInfo(msgspec.Struct, rename="camel"):
    """One replica."""

    broker_id: int
    broker_address: str = ""
    alive: bool = False


class SetInfo(msgspec.Struct, rename="camel"):
    """One set."""

    in_sync_replicas: list[ReplicaInfo] = []
    not_in_sync_replicas: list[ReplicaInfo] = []
    master_broker_id: int | None = None
    master_epoch: int = 0
    sync_state_set_epoch: int = 0

    @property
    def replicas(self) -> list[ReplicaInfo]:
        """All replicas, by id."""
        return sorted([*self.in_sync_replicas, *self.not_in_sync_replicas], key=lambda row: row.broker_id)

    def state(self, name: str, cluster: str, check_code: str = "") -> BrokerSet:
        """The set as a Controller stores it; `check_code` stands for the codes, which 1006 does not contain."""
        return BrokerSet(
            cluster=cluster,
            name=name,
            replicas={
                row.broker_id: Replica(row.broker_address, f"{row.broker_address};{check_code}")
                for row in self.replicas
            },
            master_id=self.master_broker_id,
            master_epoch=self.master_epoch,
            sync_state_set=tuple(sorted(row.broker_id for row in self.in_sync_replicas)),
            sync_state_epoch=self.sync_state_set_epoch,
        )


class _Table(msgspec.Struct, rename="camel"):
    replicas_info_table: dict[str, SetInfo] = {}


_decode: Final = msgspec.json.Decoder(_Table).decode


def decode_replicas_info(body: bytes | None) -> dict[str, SetInfo]:
    """Raises msgspec.DecodeError."""
    return _decode(body or b"{}").replicas_info_table
