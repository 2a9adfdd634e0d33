"""Takes steps on both Controllers, waits for delayed effects, and compares answers and notifications."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from tests.support.compare import free_of_order, parse_body, quotes_exception
from tests.support.differential.endpoint import VIEW, Answer
from tests.support.differential.side_by_side import Difference, SideBySide
from tests.support.differential.steps import Ask, Drop
from tests.support.differential_controller.endpoint import ControllerEndpoint
from tests.support.differential_controller.known import (
    KNOWN,
    Known,
    SetView,
    State,
    Step,
    beat_of,
    number,
    same_notifications,
    same_settings,
)
from tests.support.differential_controller.names import OTHER, SETS
from tests.support.remoting_frames import Reply

EVERYTHING_EVERY: Final = 25
SETTLE_TIMEOUT_S: Final = 20.0
ELECTION_TIMEOUT_S: Final = 15.0
QUIET_S: Final = 0.3
FIRST_SETTINGS: Final = b"""\
controllerThreadPoolNums=16
electMasterMaxRetryCount=1
enableElectUncleanMaster=false
isProcessReadEvent=false
metricsInDelta=false
metricsLabel=
notifyBrokerRoleChanged=true
scanInactiveMasterInterval=3600000
"""


class Runner(SideBySide[ControllerEndpoint, Known, Step]):
    """Drives two Controllers side by side."""

    everything_every = EVERYTHING_EVERY
    settle_timeout_s = SETTLE_TIMEOUT_S

    def __init__(
        self, reference: ControllerEndpoint, subject: ControllerEndpoint, *, known: Sequence[Known] = KNOWN
    ) -> None:
        super().__init__(reference, subject, known=known)
        self._state = State(tag="")

    def _begin(self, tag: str) -> None:
        self._end_last_run()
        self._state = State(tag=tag)

    def _end_last_run(self) -> None:
        """Let its brokers die without notifications, which would arrive during the next run."""
        for endpoint in self.both:
            assert endpoint.ask(1009, body=b"notifyBrokerRoleChanged=false").code == 0
            for conn in endpoint.connections - {VIEW}:
                endpoint.drop(conn)
        for conn in set(self._state.beats) - {OTHER}:
            self._await_end(conn)
        for endpoint in self.both:
            assert endpoint.ask(1009, body=FIRST_SETTINGS).code == 0
            endpoint.brokers.forget()

    def _take(self, step: Step) -> Difference | None:
        self._look()
        if any(known.skip(step, self._state) for known in self.known):
            self.skipped += 1
            return None
        self.taken += 1
        return self._drop(step) if isinstance(step, Drop) else self._ask(self._filled(step))

    def _look(self) -> None:
        """The sets as Java shows them."""
        state = self._state
        found = self.reference.sets(*(state.fill(one.name) for one in SETS))
        state.sets = {name: SetView.parse(info) for name, info in found.items()}

    def _filled(self, step: Ask) -> Ask:
        """A step with the set's current epochs in place of the placeholders."""
        if step.code != 1001:
            return step
        view = self._state.view(step) or SetView()
        values = {"%MASTER%": str(view.master or 1), "%EPOCH%": str(view.epoch), "%SSE%": str(view.sync_epoch)}
        ext, body = dict(step.ext or {}), step.body
        for mark, value in values.items():
            ext = {key: text.replace(mark, value) for key, text in ext.items()}
            body = body.replace(mark.encode(), value.encode())
        return replace(step, ext=None if step.ext is None else ext, body=body)

    def _ask(self, step: Ask) -> Difference | None:
        data = step.data(self._state.tag)
        reference, subject = (endpoint.exchange(step.conn, data, expect=step.expect) for endpoint in self.both)
        difference = self._judge(step, reference, subject)
        if difference is not None:
            return difference
        self._learn(step, reference)
        if step.flag:
            self._await_agreement()
        if step.code == 1002 and reference.replies and reference.replies[0].code == 0:
            return self._compare_notifications(step)
        return None

    def _learn(self, step: Ask, answer: Answer) -> None:
        state = self._state
        code = answer.replies[0].code if answer.replies else 0
        if step.code == 1013 and code == 0:
            applied = number(step, "appliedBrokerId")
            if applied is not None:
                state.ever.setdefault(state.name(step), set()).add(applied)
        elif step.code == 1011 and code == 0:
            self._look()
            if state.view(step) is None:
                state.ever.pop(state.name(step), None)
        elif step.code == 1009 and code == 0:
            for line in step.body.decode().lower().splitlines():
                key, _, value = line.replace(" ", "").partition("=")
                if key == "enableelectuncleanmaster":
                    state.unclean = value == "true"
        elif step.code == 904 and (broker := beat_of(step, state)) is not None:
            state.beats.setdefault(step.conn, set()).add(broker)

    def _drop(self, step: Drop) -> Difference | None:
        """Close a connection; a broker on it dies, and if it is the master, both elect."""
        has_broker = step.conn in self._state.beats
        for endpoint in self.both:
            endpoint.drop(step.conn)
        self._await_end(step.conn)
        return (self._compare_everything() or self._compare_notifications(None)) if has_broker else None

    def _await_end(self, conn: str) -> None:
        """Wait until the brokers of a closed connection are dead, and none of them is master."""
        for _, name, broker_id in self._state.beats.pop(conn, ()):
            for endpoint in self.both:
                is_over = partial(self._is_over, endpoint, name, broker_id)
                if not endpoint.until(is_over, timeout_s=ELECTION_TIMEOUT_S) and endpoint is self.reference:
                    # Java tries once here (electMasterMaxRetryCount=1), and gives up on a busy machine
                    endpoint.ask(1002, {"brokerName": name, "brokerId": "-1"})

    def _is_over(self, endpoint: ControllerEndpoint, name: str, broker_id: int) -> bool:
        info = endpoint.sets(name).get(name)
        if info is None:
            time.sleep(QUIET_S)  # a heartbeat of an unknown set: its end is not visible
            return True
        view = SetView.parse(info)
        return broker_id not in view.alive and view.master != broker_id

    # --- comparison ---------------------------------------------------------------------------------------------------

    def _judge(self, question: Ask, reference: Answer, subject: Answer) -> Difference | None:
        ends = (reference.closed, reference.silent, reference.leftover, len(reference.replies))
        same = ends == (subject.closed, subject.silent, subject.leftover, len(subject.replies))
        pairs = zip(reference.replies, subject.replies, strict=False)
        if same and all(self._same(question, java, ours) for java, ours in pairs):
            return None
        return Difference(question=question, reference=reference, subject=subject)

    def _same(self, question: Ask, java: Reply, ours: Reply) -> bool:
        if java.raw == ours.raw:
            return True
        if question.code == 1010 and java.header == ours.header and same_settings(java, ours):
            return True
        if question.code == 1006 and java.header == ours.header and java.body and ours.body:
            # hash tables; a broken body of a request may still be answered with something else
            return free_of_order(parse_body(java.body)) == free_of_order(parse_body(ours.body))
        if quotes_exception(java.remark) and ours.remark and java.body == ours.body:
            left, right = ({**reply.header, "remark": ""} for reply in (java, ours))
            return left == right
        return any(known.excuse(question, java, ours, self._state) for known in self.known)

    def _compare_everything(self) -> Difference | None:
        names = [one.name for one in SETS]
        body = json.dumps(names)
        asked = [Ask(conn=VIEW, code=1006, body=body.encode()), Ask(conn=VIEW, code=1005), Ask(conn=VIEW, code=1010)]
        asked += [Ask(conn=VIEW, code=code, ext={"brokerName": name}) for name in names for code in (1004, 1012)]
        return self._compare_all(asked)

    def _compare_notifications(self, cause: Ask | None) -> Difference | None:
        """All 1008 so far. They come a moment after the answer."""
        deadline = time.monotonic() + SETTLE_TIMEOUT_S
        while True:
            java, ours = (endpoint.notifications() for endpoint in self.both)
            if same_notifications(java, ours):
                return None
            if time.monotonic() > deadline:
                question = cause or Ask(conn=VIEW, code=1008)
                return Difference(
                    question=question,
                    reference=Answer(leftover=repr(java).encode()),
                    subject=Answer(leftover=repr(ours).encode()),
                )
            time.sleep(0.005)
