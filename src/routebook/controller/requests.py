"""The Controller's requests as values, read from commands as Java reads them: a number that does not parse is null."""

import re
from typing import Final

import msgspec

from routebook.controller.liveness import DEFAULT_TIMEOUT_MS, LOWEST_PRIORITY, BrokerId, Heartbeat
from routebook.errors import BadRequest
from routebook.wire.command import Command
from routebook.wire.fastjson.reader import Reader
from routebook.wire.fastjson.typed import Fields, Int32, Int64, decode_bean
from routebook.wire.fields import bool_field, int_field, long_field


class GetNextBrokerId(msgspec.Struct, frozen=True):
    """1012."""

    cluster: str | None
    broker: str


class ApplyBrokerId(msgspec.Struct, frozen=True):
    """1013."""

    cluster: str | None
    broker: str
    broker_id: int
    check_code: str


class RegisterBroker(msgspec.Struct, frozen=True):
    """1003."""

    cluster: str | None
    broker: str
    broker_id: int | None
    address: str | None


class ElectMaster(msgspec.Struct, frozen=True):
    """1002; also what the controller asks itself when it finds a dead master."""

    broker: str | None
    broker_id: int | None = None
    designated: bool = False


class AlterSyncStateSet(msgspec.Struct, frozen=True):
    """1001. `members` are ascending; None: without a body."""

    broker: str
    master_id: int | None
    master_epoch: int | None
    members: tuple[int, ...] | None
    epoch: int


class GetReplicaInfo(msgspec.Struct, frozen=True):
    """1004."""

    broker: str


class CleanBrokerData(msgspec.Struct, frozen=True):
    """1011. Without ids: the whole set. `invalid` is the first id that is not a number."""

    cluster: str | None
    broker: str
    broker_ids: tuple[int, ...] = ()
    clean_living: bool = False
    invalid: str | None = None


class _SyncStateSet(msgspec.Struct, rename="camel"):
    """The body of 1001. Java: SyncStateSet."""

    sync_state_set: list[Int64 | None] | None = None
    sync_state_set_epoch: Int32 = 0


_FIELDS: Final[Fields] = {"syncStateSet": Reader.longs, "syncStateSetEpoch": Reader.int32}
_decode_set = msgspec.json.Decoder(_SyncStateSet | None).decode
_LONG: Final = re.compile(r"[+-]?\d+")


def next_broker_id(command: Command) -> GetNextBrokerId:
    return GetNextBrokerId(command.field("clusterName"), _required(command, "brokerName"))


def apply_broker_id(command: Command) -> ApplyBrokerId:
    number, check_code = long_field(command, "appliedBrokerId"), _required(command, "registerCheckCode")
    if number is None:
        raise BadRequest("appliedBrokerId is missing or not a number")
    if check_code and not check_code.strip(";"):
        raise BadRequest("registerCheckCode has no address; it must be ADDRESS;MILLIS")
    return ApplyBrokerId(command.field("clusterName"), _required(command, "brokerName"), number, check_code)


def register_broker(command: Command) -> RegisterBroker:
    return RegisterBroker(
        command.field("clusterName"),
        _required(command, "brokerName"),
        long_field(command, "brokerId"),
        command.field("brokerAddress"),
    )


def elect_master(command: Command) -> ElectMaster:
    designated = bool_field(command, "designateElect") or False
    return ElectMaster(command.field("brokerName"), long_field(command, "brokerId"), designated)


def alter_sync_state_set(command: Command) -> AlterSyncStateSet:
    what = "a syncStateSet with its epoch"
    body = decode_bean(command.body, _decode_set, _FIELDS, _SyncStateSet, what=what) if command.body else None
    members, epoch = None, 0
    if body is not None:
        if body.sync_state_set is None or None in body.sync_state_set:
            raise BadRequest("syncStateSet is missing or contains null")
        members = tuple(sorted({number for number in body.sync_state_set if number is not None}))
        epoch = body.sync_state_set_epoch
    return AlterSyncStateSet(
        _required(command, "brokerName"),
        long_field(command, "masterBrokerId"),
        int_field(command, "masterEpoch"),
        members,
        epoch,
    )


def replica_info(command: Command) -> GetReplicaInfo:
    return GetReplicaInfo(_required(command, "brokerName"))


def sync_state_data(command: Command) -> list[str]:
    """1006: the names asked for; an empty list where Java has no answer."""
    if not command.body:
        return []
    try:
        return msgspec.json.decode(command.body, type=list[str] | None) or []
    except msgspec.DecodeError:
        raise BadRequest("the body is not a JSON list of broker names") from None


def clean_broker_data(command: Command) -> CleanBrokerData:
    text = (command.field("brokerControllerIdsToClean") or "").rstrip(";")  # Java: split drops empty parts at the end
    parts = text.split(";") if text.strip() else []
    invalid = next((part for part in parts if not _is_long(part)), None)
    return CleanBrokerData(
        command.field("clusterName"),
        _required(command, "brokerName"),
        () if invalid is not None else tuple(sorted(set(map(int, parts)))),
        bool_field(command, "isCleanLivingBroker") or False,
        invalid,
    )


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


def _is_long(text: str) -> bool:
    return _LONG.fullmatch(text) is not None and len(text) <= 40 and -(1 << 63) <= int(text) < 1 << 63
