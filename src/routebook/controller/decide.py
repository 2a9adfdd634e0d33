"""Decisions of the Controller: one function per request, from a set's state to an answer and at most one event.

Texts of remarks are Java's, byte for byte, where Java has one.
"""

from collections.abc import Iterable, Mapping

import msgspec

from routebook.codes import ResponseCode
from routebook.controller.codes import ControllerResponse
from routebook.controller.election import elect
from routebook.controller.liveness import LiveView
from routebook.controller.requests import (
    AlterSyncStateSet,
    ApplyBrokerId,
    CleanBrokerData,
    ElectMaster,
    GetNextBrokerId,
    GetReplicaInfo,
    RegisterBroker,
)
from routebook.controller.state import (
    AddressChanged,
    BrokerSet,
    Event,
    IdApplied,
    MasterElected,
    MasterLost,
    ReplicasRemoved,
    SyncStateSetChanged,
    apply,
)

_BAD_IDS = "Please set the option <brokerControllerIdsToClean> according to the format"
_REJECTED = "Rejecting alter syncStateSet request because the"


class Answer(msgspec.Struct, frozen=True):
    """What a request is answered with. `ext` keeps Java's field order; None leaves extFields out."""

    code: int = 0
    remark: str | None = None
    ext: dict[str, str] | None = None
    body: object = None


class Decision(msgspec.Struct, frozen=True):
    """An answer, the event to commit before it is sent, and whether brokers are notified of the role change."""

    answer: Answer
    event: Event | None = None


def next_broker_id(state: BrokerSet | None, request: GetNextBrokerId) -> Decision:
    """1012."""
    number = 1 if state is None else state.next_id
    names = {"clusterName": request.cluster, "nextBrokerId": str(number), "brokerName": request.broker}
    return Decision(Answer(ext=_without_nulls(names)))


def apply_broker_id(state: BrokerSet | None, request: ApplyBrokerId) -> Decision:
    """1013. The same application again succeeds."""
    names = _without_nulls({"clusterName": request.cluster, "brokerName": request.broker})
    number = request.broker_id
    if state is None and number != 1:
        remark = (
            f"Broker-set: {request.broker} hasn't been registered in controller, "
            f"but broker try to apply brokerId: {number}"
        )
        return Decision(Answer(ControllerResponse.BROKER_ID_INVALID, remark, names))
    if state is not None:
        taken = state.replicas.get(number)
        if taken is not None and taken.check_code == request.check_code:
            return Decision(Answer(ext=names))
        if taken is not None or number in state.retired or number < 1:
            remark = f"Fail to apply brokerId: {number} in broker-set: {request.broker}"
            return Decision(Answer(ControllerResponse.BROKER_ID_INVALID, remark, names))
    cluster = request.cluster if state is None else state.cluster
    if cluster is None:  # Java stores a set without cluster
        return Decision(Answer(ResponseCode.SYSTEM_ERROR, "clusterName is missing"))
    address = request.check_code.partition(";")[0]
    event = IdApplied(cluster, request.broker, number, address, request.check_code)
    return Decision(Answer(ext=names), event)


def register_broker(state: BrokerSet | None, request: RegisterBroker, live: LiveView) -> Decision:
    """1003. The answer shows the state before a changed address is stored, and only a master that is alive."""
    names = _without_nulls({"clusterName": request.cluster, "brokerName": request.broker})
    if state is None:
        remark = f"Broker-set: {request.broker} hasn't been registered in controller"
        return Decision(Answer(ControllerResponse.BROKER_NEED_TO_BE_REGISTERED, remark, names))
    if request.broker_id is None:
        return Decision(Answer(ResponseCode.SYSTEM_ERROR, "brokerId is missing or not a number"))
    replica = state.replicas.get(request.broker_id)
    if replica is None:
        remark = f"BrokerId: {request.broker_id} hasn't been registered in broker-set: {request.broker}"
        return Decision(Answer(ControllerResponse.BROKER_NEED_TO_BE_REGISTERED, remark, names))
    if request.address is None:
        return Decision(Answer(ResponseCode.SYSTEM_ERROR, "brokerAddress is missing"))
    ext = names
    if state.master_id is not None and live.is_alive(request.cluster, state.name, state.master_id):
        master = _master_fields(state)
        ext = {
            **{key: master[key] for key in ("masterBrokerId", "masterAddress")},
            **names,
            **{key: master[key] for key in ("syncStateSetEpoch", "masterEpoch")},
        }
    changed = request.address != replica.address
    event = AddressChanged(state.name, request.broker_id, request.address) if changed else None
    return Decision(Answer(ext=ext, body=_sync_state(state)), event)


def elect_master(
    state: BrokerSet | None, request: ElectMaster, live: LiveView, *, allow_unclean: bool = False
) -> Decision:
    """1002. Without a broker id the controller itself looks for a master."""
    if state is None:
        return Decision(Answer(ControllerResponse.BROKER_NEED_TO_BE_REGISTERED, "Broker hasn't been registered", {}))
    asking = None if request.broker_id in (None, -1) else request.broker_id
    if state.is_first_election and asking is not None:
        chosen = asking if asking in state.replicas else None  # Java elects unregistered ids too
    else:
        preferred = asking if request.designated else None
        chosen = elect(state, live, preferred=preferred, allow_unclean=allow_unclean)
    if chosen is None:
        return _not_elected(state, asking)
    if chosen == state.master_id:
        remark = f"The old master {chosen} is still alive, not need to elect new master for broker {state.name}"
        body = {"syncStateSet": state.sync_state_set}
        return Decision(Answer(ControllerResponse.MASTER_STILL_EXIST, remark, _master_fields(state), body))
    unclean = bool(state.sync_state_set) and chosen not in state.sync_state_set
    event = MasterElected(state.name, chosen, unclean)
    after = apply(state, event)
    assert after is not None  # noqa: S101 - an election never removes a set
    members: dict[str, object] = {
        "brokerMemberGroup": {
            # quoted keys: mqadmin 5.5.0 cannot read Java's unquoted ones here, brokers read both
            "brokerAddrs": {str(number): replica.address for number, replica in after.replicas.items()},
            "brokerName": after.name,
            "cluster": after.cluster,
        },
        "syncStateSet": after.sync_state_set,
    }
    return Decision(Answer(ext=_master_fields(after), body=members), event)


def _not_elected(state: BrokerSet, asking: int | None) -> Decision:
    if asking is not None:
        return Decision(Answer(ControllerResponse.ELECT_MASTER_FAILED, "Failed to elect a new master", {}))
    remark = "Old master has down and failed to elect a new broker master"
    # Java commits this on each of its retries, and so raises the epoch of a set that has no master
    event = None if state.master_id is None else MasterLost(state.name)
    return Decision(Answer(ControllerResponse.MASTER_NOT_AVAILABLE, remark, {}), event)


def alter_sync_state_set(state: BrokerSet | None, request: AlterSyncStateSet, live: LiveView) -> Decision:
    """1001. Checks stand in Java's order."""
    unchanged = {"newSyncStateSetEpoch": "0"}
    if state is None:
        failed = ControllerResponse.ALTER_SYNC_STATE_SET_FAILED
        return Decision(Answer(failed, "Broker metadata is not existed", unchanged))
    if request.members is None:
        return Decision(Answer(ResponseCode.SYSTEM_ERROR, "the body is missing"))
    refused = _refuse_alter(state, request, request.members, live)
    if refused is not None:
        code, remark = refused
        return Decision(Answer(code, remark, None if code == ResponseCode.SYSTEM_ERROR else unchanged))
    epoch = state.sync_state_epoch + 1
    body = {"syncStateSet": request.members, "syncStateSetEpoch": epoch}
    answer = Answer(ext={"newSyncStateSetEpoch": str(epoch)}, body=body)
    return Decision(answer, SyncStateSetChanged(state.name, request.members))


def _refuse_alter(
    state: BrokerSet, request: AlterSyncStateSet, members: tuple[int, ...], live: LiveView
) -> tuple[int, str] | None:
    if members == state.sync_state_set:
        same = "The newSyncStateSet is equal with oldSyncStateSet, no needed to update syncStateSet"
        return ControllerResponse.ALTER_SYNC_STATE_SET_FAILED, same
    if state.master_id is None or request.master_id != state.master_id:
        leader = f"{_REJECTED} current leader is:{{{_java(state.master_id)}}}, not {{{_java(request.master_id)}}}"
        return ControllerResponse.INVALID_MASTER, leader
    if request.master_epoch is None:
        return ResponseCode.SYSTEM_ERROR, "masterEpoch is missing or not a number"
    if request.master_epoch != state.master_epoch:
        epoch = f"{_REJECTED} current master epoch is:{{{state.master_epoch}}}, not {{{request.master_epoch}}}"
        return ControllerResponse.FENCED_MASTER_EPOCH, epoch
    if request.epoch != state.sync_state_epoch:
        epoch = f"{_REJECTED} current syncStateSet epoch is:{{{state.sync_state_epoch}}}, not {{{request.epoch}}}"
        return ControllerResponse.FENCED_SYNC_STATE_SET_EPOCH, epoch
    for number in members:
        if number not in state.replicas:
            missing = f"{_REJECTED} replicas {{{number}}} don't exist"
            return ControllerResponse.INVALID_REPLICAS, missing
        if not live.is_alive(state.cluster, state.name, number):
            dead = f"{_REJECTED} replicas {{{number}}} don't alive"
            return ControllerResponse.BROKER_NOT_ALIVE, dead
    if state.master_id not in members:
        lacks = f"{_REJECTED} newSyncStateSet don't contains origin leader {{{state.master_id}}}"
        return ControllerResponse.ALTER_SYNC_STATE_SET_FAILED, lacks
    return None


def replica_info(state: BrokerSet | None, _request: GetReplicaInfo) -> Decision:
    """1004. Names the master whether or not it is alive."""
    if state is None:
        return Decision(Answer(ControllerResponse.BROKER_METADATA_NOT_EXIST, "Broker metadata is not existed", {}))
    ext = {key: value for key, value in _master_fields(state).items() if key != "syncStateSetEpoch"}
    return Decision(Answer(ext=ext, body=_sync_state(state)))


def sync_state_data(states: Mapping[str, BrokerSet], names: Iterable[str], live: LiveView) -> Decision:
    """1006. Unknown names are left out."""
    table = {name: _replicas_info(states[name], live) for name in dict.fromkeys(names) if name in states}
    return Decision(Answer(body={"replicasInfoTable": table}))


def clean_broker_data(state: BrokerSet | None, request: CleanBrokerData, live: LiveView) -> Decision:
    """1011. Honours ids also for living brokers, where Java removes the whole set."""
    name, code = request.broker, ControllerResponse.INVALID_CLEAN_BROKER_METADATA
    if state is None and request.clean_living:
        return Decision(Answer(code, _unknown(request)))
    if request.invalid is not None:
        error = f'java.lang.NumberFormatException: For input string: "{request.invalid}"'
        return Decision(Answer(code, f"{_BAD_IDS}, exception: {error}"))
    if not request.clean_living:
        if not request.broker_ids and state is not None and state.master_id is not None:
            return Decision(Answer(code, f"Broker {name} is still alive, clean up failure"))
        for number in request.broker_ids:
            if live.is_alive(request.cluster, name, number):
                return Decision(Answer(code, f"Broker [{name},  {number}] is still alive, clean up failure"))
    if state is None:
        return Decision(Answer(code, _unknown(request)))
    return Decision(Answer(), ReplicasRemoved(state.name, request.broker_ids or None))


def _unknown(request: CleanBrokerData) -> str:
    return f"Broker {request.broker} is not existed,clean broker data failure."


def _master_fields(state: BrokerSet) -> dict[str, str]:
    """The master as 1002, 1003, 1004 and 1008 name it, in the order of Java's hash table."""
    fields = {
        "masterBrokerId": None if state.master_id is None else str(state.master_id),
        "masterAddress": state.master_address,
        "syncStateSetEpoch": str(state.sync_state_epoch),
        "masterEpoch": str(state.master_epoch),
    }
    return _without_nulls(fields)


def role_change(state: BrokerSet) -> Answer:
    """1008: what brokers are notified of after an election."""
    fields = _master_fields(state)
    address = {"masterAddress": fields["masterAddress"]} if "masterAddress" in fields else {}
    return Answer(ext={**address, **fields}, body=_sync_state(state))


def _sync_state(state: BrokerSet) -> dict[str, object]:
    return {"syncStateSet": state.sync_state_set, "syncStateSetEpoch": state.sync_state_epoch}


def _replicas_info(state: BrokerSet, live: LiveView) -> dict[str, object]:
    replicas = {
        number: {
            "alive": live.is_alive(state.cluster, state.name, number),
            "brokerAddress": replica.address,
            "brokerId": number,
            "brokerName": state.name,
        }
        for number, replica in state.replicas.items()
    }
    master: dict[str, object] = {}
    if state.master_id is not None:
        master = {"masterAddress": state.master_address, "masterBrokerId": state.master_id}
    return {
        "inSyncReplicas": [replicas[number] for number in state.sync_state_set if number in replicas],
        **master,
        "masterEpoch": state.master_epoch,
        "notInSyncReplicas": [row for number, row in replicas.items() if number not in state.sync_state_set],
        "syncStateSetEpoch": state.sync_state_epoch,
    }


def _without_nulls(fields: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in fields.items() if value is not None}


def _java(value: int | None) -> str:
    return "null" if value is None else str(value)
