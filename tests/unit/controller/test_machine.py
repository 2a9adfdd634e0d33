"""The Controller's state machine against sessions captured from Java 5.5.0, without a socket."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

import pytest

from routebook.controller.codes import ControllerRequest
from routebook.controller.machine import LEADER_CODES, NOT_LEADER, Machine, refusal, reply_of
from routebook.controller.requests import ElectMaster
from routebook.errors import BadRequest
from routebook.wire.command import Command, Reply
from tests.support.controller_golden import Line, decoded, session

NOW_MS: Final = 1_700_000_000_000

# What Routebook answers differently on purpose; test_decide.py has a test for each.
_EPOCHS = "no inflated epochs"
DEVIATIONS: Final[dict[str, str]] = {
    "elect-first": "quoted keys",
    "elect-designated": "quoted keys",
    "elect-in-set": "quoted keys",
    "half-elect": "quoted keys",
    "cluster-elect": "quoted keys",
    "u-elect": "quoted keys",
    "u-elect-designated": "quoted keys",
    "replica-nobody": _EPOCHS,
    "replica-epoch-grown": _EPOCHS,
    "register-new-address": _EPOCHS,
    "sync-new-address": _EPOCHS,
    "sync-after-clean": _EPOCHS,
    "next-id-after-clean-all": "clean honours ids",
    "gap-next": "next id is the highest plus one",
    "gap-elect-unregistered": "only a registered broker wins the first election",
    "gap-replica": "only a registered broker wins the first election",
    "half-replica": "a set lives until its last replica is removed",
    "half-sync": "a set lives until its last replica is removed",
    "never-elect-1": "a failed search does not end the first election",
    "never-elect-unclean": "a failed search does not end the first election",
    "reconnect-sync": "only the current connection's close counts",
}


class Node:
    """A leader in memory: decides, applies at once, elects when a connection closes, records notifications."""

    def __init__(self, *, unclean: bool, is_leader: bool = True) -> None:
        self.machine = Machine()
        self.unclean = unclean
        self.is_leader = is_leader
        self.sent: dict[str, list[Reply]] = {}
        self._numbers: dict[str, int] = {}

    def ask(self, conn: str, command: Command) -> Reply:
        machine = self.machine
        try:
            if command.code == ControllerRequest.BROKER_HEARTBEAT:
                return machine.heartbeat(command, connection=self._number(conn), now_ms=NOW_MS)
            if command.code == ControllerRequest.CONTROLLER_GET_SYNC_STATE_DATA:
                return machine.sync_state_data(command, now_ms=NOW_MS, is_leader=self.is_leader)
            if not self.is_leader:
                return NOT_LEADER
            return self._decide(machine.read(command))
        except BadRequest as error:
            return refusal(error)

    def close(self, conn: str) -> None:
        for broker in self.machine.live.connection_lost(self._numbers.pop(conn)):
            if self.is_leader and self.machine.is_master(broker):
                assert broker.broker is not None
                self._decide(ElectMaster(broker.broker))

    def _decide(self, request: Any) -> Reply:
        decision = self.machine.decide(request, now_ms=NOW_MS, allow_unclean=self.unclean)
        if decision.event is not None:
            after = self.machine.apply(decision.event)
            if isinstance(request, ElectMaster) and decision.answer.code == 0:
                assert after is not None
                for address in self.machine.addresses_to_notify(after, NOW_MS):
                    self.sent.setdefault(address, []).append(self.machine.role_change(after))
        return reply_of(decision.answer)

    def _number(self, conn: str) -> int:
        return self._numbers.setdefault(conn, len(self._numbers) + 1)


def differences(line: Line, reply: Reply) -> str | None:
    """What is not as captured; None: nothing."""
    if not line.response:
        return None
    java = decoded(line.response)
    if line.is_exception:
        return None if reply.code == java.code and reply.remark else f"code {reply.code} {reply.remark!r}"
    mine = (reply.code, reply.remark, _ordered(reply.ext), reply.body or b"")
    captured = (java.code, java.remark, _ordered(java.ext), java.body or b"")
    return None if mine == captured else f"{mine} instead of {captured}"


def _ordered(ext: Mapping[str, str | None] | None) -> list[tuple[str, str | None]] | None:
    return None if ext is None else list(ext.items())


@pytest.mark.parametrize(("name", "unclean"), [("single", False), ("unclean", True)])
def test_captured_sessions(name: str, unclean: bool) -> None:
    node = Node(unclean=unclean)
    wrong, deviating = [], set()
    for line in session(name):
        if line.close:
            assert line.conn is not None
            node.close(line.conn)
            continue
        if line.notify is not None:
            _check_notifications(line, node.sent.pop(line.notify, []))
            continue
        command = line.command
        if command.code == ControllerRequest.UPDATE_CONTROLLER_CONFIG:  # the service answers it
            if b"enableElectUncleanMaster=true" in (command.body or b""):
                node.unclean = True
            continue
        if command.code not in LEADER_CODES | {ControllerRequest.BROKER_HEARTBEAT}:
            continue
        assert line.conn is not None
        found = differences(line, node.ask(line.conn, command))
        if found is not None:
            deviating.add(line.name)
            if line.name not in DEVIATIONS:
                wrong.append(f"{line.name}: {found}")
    assert wrong == []
    names = {line.name for line in session(name)}
    assert deviating == names & DEVIATIONS.keys(), "a deviation that does not deviate any more"


def _check_notifications(line: Line, sent: list[Reply]) -> None:
    captured = [decoded(frame) for frame in line.frames]
    assert [(_ordered(one.ext), one.body) for one in sent] == [(_ordered(one.ext), one.body) for one in captured]


@pytest.mark.parametrize("name", ["noquorum", "follower"])
def test_a_node_that_does_not_lead_rejects_leader_codes(name: str) -> None:
    node = Node(unclean=False, is_leader=False)
    codes = LEADER_CODES | {ControllerRequest.BROKER_HEARTBEAT}
    lines = [line for line in session(name) if line.command.code in codes]
    assert len(lines) > 7
    for line in lines:
        assert line.conn is not None
        assert differences(line, node.ask(line.conn, line.command)) is None, line.name


def test_the_election_answer_has_quoted_keys() -> None:
    """mqadmin 5.5.0 rejects the unquoted keys that Java writes here; otherwise the bodies are equal."""
    (line,) = [line for line in session("single") if line.name == "elect-first"]
    assert line.response is not None
    java = decoded(line.response).body or b""
    node = Node(unclean=False)
    for earlier in session("single"):
        if earlier.request is None or earlier.command.code not in LEADER_CODES | {904}:
            continue
        assert earlier.conn is not None
        reply = node.ask(earlier.conn, earlier.command)
        if earlier.name == "elect-first":
            break
    assert json.loads(reply.body or b"") == json.loads(re.sub(rb"([{,])(\d+):", rb'\1"\2":', java))
