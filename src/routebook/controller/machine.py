"""All broker sets of a controller and its live table; dispatches requests to decisions. Pure."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from routebook.codes import ResponseCode
from routebook.controller import decide, requests
from routebook.controller.codes import ControllerRequest, ControllerResponse
from routebook.controller.decide import Answer, Decision
from routebook.controller.liveness import BrokerId, LiveTable, LiveView
from routebook.controller.state import BrokerSet, Event, apply
from routebook.errors import BadRequest
from routebook.wire.command import Command, Reply

NOT_LEADER: Final = Reply(code=ControllerResponse.NOT_LEADER, remark="The controller is not in leader state")
_HEARTBEAT_DONE: Final = Answer(remark="Heart beat success")
_HEARTBEAT_WITHOUT_ID: Final = Answer(ControllerResponse.INVALID_REQUEST, "Heart beat with empty brokerId")
_NO_NAMES: Final = Reply(code=ResponseCode.SYSTEM_ERROR, remark="not set any response code")  # Java's words for 1006

_READERS: Final[dict[int, Callable[[Command], Any]]] = {
    ControllerRequest.CONTROLLER_ALTER_SYNC_STATE_SET: requests.alter_sync_state_set,
    ControllerRequest.CONTROLLER_ELECT_MASTER: requests.elect_master,
    ControllerRequest.CONTROLLER_REGISTER_BROKER: requests.register_broker,
    ControllerRequest.CONTROLLER_GET_REPLICA_INFO: requests.replica_info,
    ControllerRequest.CLEAN_BROKER_DATA: requests.clean_broker_data,
    ControllerRequest.CONTROLLER_GET_NEXT_BROKER_ID: requests.next_broker_id,
    ControllerRequest.CONTROLLER_APPLY_BROKER_ID: requests.apply_broker_id,
}
LEADER_CODES: Final = frozenset(_READERS) | {ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA}


class Machine:
    """Broker sets by name, and which brokers are alive at this node."""

    def __init__(self, sets: dict[str, BrokerSet] | None = None) -> None:
        self.sets = {} if sets is None else sets
        self.live = LiveTable()

    def read(self, command: Command) -> Any:
        """A leader's request as a value; raises BadRequest."""
        return _READERS[command.code](command)

    def decide(self, request: Any, *, now_ms: int, allow_unclean: bool) -> Decision:
        """The answer to a request about one set, and the event to commit first."""
        state = None if request.broker is None else self.sets.get(request.broker)
        live = LiveView(self.live, now_ms)
        match request:
            case requests.AlterSyncStateSet():
                return decide.alter_sync_state_set(state, request, live)
            case requests.ElectMaster():
                return decide.elect_master(state, request, live, allow_unclean=allow_unclean)
            case requests.RegisterBroker():
                return decide.register_broker(state, request, live)
            case requests.GetReplicaInfo():
                return decide.replica_info(state, request)
            case requests.CleanBrokerData():
                return decide.clean_broker_data(state, request, live)
            case requests.GetNextBrokerId():
                return decide.next_broker_id(state, request)
            case requests.ApplyBrokerId():
                return decide.apply_broker_id(state, request)
            case _:
                raise TypeError(f"not a controller request: {request!r}")

    def sync_state_data(self, command: Command, *, now_ms: int, is_leader: bool) -> Reply:
        """1006. Java looks at the body before it looks at leadership."""
        names = requests.sync_state_data(command)
        if not names:
            return _NO_NAMES
        if not is_leader:
            return NOT_LEADER
        return reply_of(decide.sync_state_data(self.sets, names, LiveView(self.live, now_ms)).answer)

    def heartbeat(self, command: Command, *, connection: int, now_ms: int) -> Reply:
        """904, taken by every node."""
        beat = requests.heartbeat(command)
        if beat is None:
            return reply_of(_HEARTBEAT_WITHOUT_ID)
        self.live.heartbeat(beat, connection=connection, now_ms=now_ms)
        return reply_of(_HEARTBEAT_DONE)

    def apply(self, event: Event) -> BrokerSet | None:
        """Change the state by a committed event; the set's new state, or None where it was removed."""
        after = self.after(event)
        self.put(event.broker, after)
        return after

    def after(self, event: Event) -> BrokerSet | None:
        """The state of the event's set after it."""
        return apply(self.sets.get(event.broker), event)

    def put(self, name: str, state: BrokerSet | None) -> None:
        """Take a state from the log: a follower's way to change."""
        if state is None:
            self.sets.pop(name, None)
        else:
            self.sets[name] = state

    def is_master(self, broker: BrokerId) -> bool:
        """Whether this broker is the recorded master of its set."""
        state = None if broker.broker is None else self.sets.get(broker.broker)
        return state is not None and state.master_id == broker.broker_id and state.cluster == broker.cluster

    def master_seen_ms(self, name: str) -> int | None:
        """When the last heartbeat of a set's master arrived at this node; None: unknown."""
        state = self.sets.get(name)
        if state is None or state.master_id is None:
            return None
        return self.live.last_ms(BrokerId(state.cluster, name, state.master_id))

    def sets_with_dead_master(self, now_ms: int) -> list[str]:
        """Sets whose recorded master is not alive while another replica is."""
        live = LiveView(self.live, now_ms)

        def is_dead(state: BrokerSet) -> bool:
            alive = [number for number in state.replicas if live.is_alive(state.cluster, state.name, number)]
            return state.master_id is not None and bool(alive) and state.master_id not in alive

        return [name for name, state in self.sets.items() if is_dead(state)]

    def role_change(self, state: BrokerSet) -> Reply:
        """1008: what a set's brokers are notified of after an election."""
        return reply_of(decide.role_change(state))

    def addresses_to_notify(self, state: BrokerSet, now_ms: int) -> list[str]:
        """Addresses of a set's live replicas, for 1008."""
        live = LiveView(self.live, now_ms)
        return [
            replica.address
            for number, replica in state.replicas.items()
            if live.is_alive(state.cluster, state.name, number)
        ]


def reply_of(answer: Answer) -> Reply:
    """An answer with its body encoded."""
    body = None if answer.body is None else msgspec.json.encode(answer.body)
    return Reply(code=int(answer.code), remark=answer.remark, ext=answer.ext, body=body)


def refusal(error: BadRequest) -> Reply:
    """The answer to a request that cannot be read."""
    return Reply(code=int(error.code), remark=error.remark)
