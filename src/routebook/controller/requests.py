"""The Controller's requests as values, read from commands as Java reads them: a number that does not parse is null."""

import msgspec

from routebook.controller.liveness import DEFAULT_TIMEOUT_MS, LOWEST_PRIORITY, BrokerId, Heartbeat
from routebook.errors import BadRequest
from routebook.wire.command import Command
from routebook.wire.fields import bool_field, int_field, long_field


class GetNextBrokerId(msgspec.Struct, frozen=True):
    """1012."""

    cluster: str | None
    broker: str


class ApplyBrokerId(msgspec.Struct, frozen=True):
    """1013."""

    cluster: str
    broker: str
    broker_id: int
    check_code: str


class RegisterBroker(msgspec.Struct, frozen=True):
    """1003."""

    cluster: str
    broker: str
    broker_id: int | None
    address: str | None


class ElectMaster(msgspec.Struct, frozen=True):
    """1002; also what the controller asks itself when it finds a dead master."""

    broker: str
    broker_id: int | None = None
    designated: bool = False


class AlterSyncStateSet(msgspec.Struct, frozen=True):
    """1001. `members` are ascending."""

    broker: str
    master_id: int | None
    master_epoch: int
    members: tuple[int, ...]
    epoch: int


class GetReplicaInfo(msgspec.Struct, frozen=True):
    """1004."""

    broker: str


class CleanBrokerData(msgspec.Struct, frozen=True):
    """1011. Without ids: the whole set."""

    cluster: str | None
    broker: str
    broker_ids: tuple[int, ...] = ()
    clean_living: bool = False


class InvalidIds(BadRequest):
    """1011 with ids that are not numbers."""


class _SyncStateSet(msgspec.Struct, rename="camel"):
    sync_state_set: list[int]
    sync_state_set_epoch: int = 0


def next_broker_id(command: Command) -> GetNextBrokerId:
    return GetNextBrokerId(command.field("clusterName"), _required(command, "brokerName"))


def apply_broker_id(command: Command) -> ApplyBrokerId:
    number = long_field(command, "appliedBrokerId")
    if number is None:
        raise BadRequest("appliedBrokerId is missing or not a number")
    return ApplyBrokerId(
        _required(command, "clusterName"),
        _required(command, "brokerName"),
        number,
        _required(command, "registerCheckCode"),
    )


def register_broker(command: Command) -> RegisterBroker:
    return RegisterBroker(
        _required(command, "clusterName"),
        _required(command, "brokerName"),
        long_field(command, "brokerId"),
        command.field("brokerAddress"),
    )


def elect_master(command: Command) -> ElectMaster:
    designated = bool_field(command, "designateElect") or False
    return ElectMaster(_required(command, "brokerName"), long_field(command, "brokerId"), designated)


def alter_sync_state_set(command: Command) -> AlterSyncStateSet:
    try:
        body = msgspec.json.decode(command.body or b"", type=_SyncStateSet)
    except msgspec.DecodeError:
        raise BadRequest("the body is not a syncStateSet with its epoch") from None
    epoch = int_field(command, "masterEpoch")
    if epoch is None:
        raise BadRequest("masterEpoch is missing or not a number")
    return AlterSyncStateSet(
        _required(command, "brokerName"),
        long_field(command, "masterBrokerId"),
        epoch,
        tuple(sorted(set(body.sync_state_set))),
        body.sync_state_set_epoch,
    )


def replica_info(command: Command) -> GetReplicaInfo:
    return GetReplicaInfo(_required(command, "brokerName"))


def sync_state_data(command: Command) -> list[str]:
    """1006: the names asked for; an empty list where Java has no answer."""
    if not command.body:
        return []
    try:
        return msgspec.json.decode(command.body, type=list[str])
    except msgspec.DecodeError:
        raise BadRequest("the body is not a JSON list of broker names") from None


def clean_broker_data(command: Command) -> CleanBrokerData:
    clean_living = bool_field(command, "isCleanLivingBroker") or False
    text = command.field("brokerControllerIdsToClean") or ""
    try:
        ids = tuple(int(part) for part in text.split(";") if part.strip())
    except ValueError as error:
        remark = "Please set the option <brokerControllerIdsToClean> according to the format, exception: "
        raise InvalidIds(f"{remark}{error}") from None
    return CleanBrokerData(command.field("clusterName"), _required(command, "brokerName"), ids, clean_living)


def heartbeat(command: Command) -> Heartbeat | None:
    """904; None without a broker id."""
    number = long_field(command, "brokerId")
    if number is None:
        return None

    def value(name: str, default: int) -> int:
        found = long_field(command, name)
        return default if found is None else found

    return Heartbeat(
        broker=BrokerId(command.field("clusterName"), command.field("brokerName"), number),
        address=command.field("brokerAddr"),
        timeout_ms=value("heartbeatTimeoutMills", DEFAULT_TIMEOUT_MS),
        epoch=value("epoch", -1),
        max_offset=value("maxOffset", -1),
        confirm_offset=value("confirmOffset", -1),
        priority=value("electionPriority", LOWEST_PRIORITY),
    )


def _required(command: Command, name: str) -> str:
    value = command.field(name)
    if value is None:
        raise BadRequest(f"{name} is missing")
    return value
