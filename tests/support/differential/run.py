"""Takes steps on both servers, waits for delayed effects, and compares the replies."""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from tests.support.compare import parse_body
from tests.support.differential.endpoint import VIEW, Answer, Endpoint
from tests.support.differential.judge import same
from tests.support.differential.known import KNOWN, RUN_TIME_SETTINGS, Known, Question, Repair, Skip, setting_lines
from tests.support.differential.names import BROKERS, CLUSTERS, NAMESPACES, TOPICS
from tests.support.differential.side_by_side import Difference, SideBySide
from tests.support.differential.state import Group, Lease, State
from tests.support.differential.steps import Ask, Drop, OddRegister, Register, Step

EVERYTHING_EVERY: Final = 50  # steps between two comparisons of the whole state
KEEP_ALIVE_S: Final = 40.0  # both servers close connections that are idle for 120 s
CHANGING_CODES: Final = {100, 102, 103, 104, 205, 216, 217, 318, 327}


class Runner(SideBySide[Endpoint, Known, Step]):
    """Drives two NameServers side by side."""

    everything_every = EVERYTHING_EVERY

    def __init__(self, reference: Endpoint, subject: Endpoint, *, known: Sequence[Known] = KNOWN) -> None:
        super().__init__(reference, subject, known=known)
        self._state = State(tag="")
        self._kept_alive_at = time.monotonic()

    def _begin(self, tag: str) -> None:
        for endpoint in self.both:
            endpoint.reset()
        self._state = State(tag=tag)

    def _take(self, step: Step) -> Difference | None:
        state = self._state
        if isinstance(step, Register) or (isinstance(step, Ask) and step.code == 104):
            self._refresh_groups()
        actions = [action for known in self.known if (action := known.guard(step, state)) is not None]
        if any(isinstance(action, Skip) for action in actions):
            self.skipped += 1
            return None
        self.taken += 1
        difference = None
        if isinstance(step, Drop):
            self._drop(step)
        else:
            difference = self._ask(step)
        for action in actions:
            if isinstance(action, Repair):
                self._repair(action)
        return difference

    def _drop(self, step: Drop) -> None:
        going = self._state.leases_of(step.conn)
        for endpoint in self.both:
            endpoint.drop(step.conn)
        self._await_removal(going)

    def _ask(self, step: Question) -> Difference | None:
        difference, reference, subject = self._compare(step)
        if isinstance(step, OddRegister):
            return self._look_at_odd(step, difference, agreed=same(step, reference, subject))
        if difference is not None:
            return difference
        if reference.closed:
            self._await_removal(self._state.leases_of(step.conn))
        if isinstance(step, Register):
            # Java accepts a registration without a cluster name, but under another key: it changes no lease
            return self._learn_lease(step, taken=reference.replies[0].code == subject.replies[0].code == 0)
        if isinstance(step, Ask):
            self._learn(step)
            if step.code == 217 and step.ext and not step.flag:
                return self._compare_all([Ask(conn=VIEW, code=105, ext=step.ext)])
        return None

    def _compare(self, question: Question) -> tuple[Difference | None, Answer, Answer]:
        data = question.data(self._state.tag)
        reference, subject = (endpoint.exchange(question.conn, data, expect=question.expect) for endpoint in self.both)
        return self._judge(question, reference, subject), reference, subject

    def _judge(self, question: Question, reference: Answer, subject: Answer) -> Difference | None:
        if same(question, reference, subject):
            return None
        if any(known.excuse(question, reference, subject, self._state) for known in self.known):
            return None
        return Difference(question=question, reference=reference, subject=subject)

    # --- what a step did ----------------------------------------------------------------------------------------------

    def _learn_lease(self, step: Register, *, taken: bool) -> Difference | None:
        """Record whether the broker is registered; both must agree on its data version."""
        state = self._state
        key = state.key(step)
        version = f'{{"counter":{step.counter},"stateVersion":{step.state_version},"timestamp":{step.timestamp}}}'
        difference, reference, _ = self._compare(_ask_data_version(key, version.encode()))
        if difference is not None:
            return difference
        if not reference.replies[0].body:
            state.leases.pop(key, None)
        elif taken:
            stored = parse_body(reference.replies[0].body)
            state.leases[key] = Lease(step.conn, stored["stateVersion"])
            state.former.setdefault(key, set()).add(step.conn)
        self._record_lost_mappings()
        for topic, info in step.mappings.items():
            pair = (state.fill(topic), state.fill(info["bname"]))
            state.mapped.add(pair)
            if self._same_mapping(*pair):
                state.forgotten_mappings.discard(pair)
        self._record_lost_mappings()
        return None

    def _same_mapping(self, topic: str, broker: str) -> bool:
        shown = []
        for endpoint in self.both:
            body = endpoint.ask(105, {"topic": topic}).body
            shown.append(parse_body(body).get("topicQueueMappingByBroker", {}).get(broker) if body else None)
        return shown[0] is not None and shown[0] == shown[1]

    def _look_at_odd(self, step: OddRegister, difference: Difference | None, *, agreed: bool) -> Difference | None:
        """Compare the effect of an odd registration, then remove it: Java may have stopped half-way."""
        names = {key: step.ext.get(key, "") for key in ("clusterName", "brokerName", "brokerAddr")}
        questions = [
            _ask_data_version((names["clusterName"], names["brokerAddr"]), b""),
            Ask(conn=VIEW, code=901, ext={"clusterName": "c", "brokerName": names["brokerName"]}),
            *(Ask(conn=VIEW, code=105, ext={"topic": f"{step.name}-{n}"}) for n in ("0@@", "1@@", "0", "1")),
            Ask(conn=VIEW, code=106),
        ]
        if self._stopped_halfway(names):
            difference = None  # whatever it is: Java answered 0 and did half of it
        elif agreed:
            difference = self._compare_all(questions)
        self._repair(Repair((Ask(conn=VIEW, code=104, ext={**names, "brokerId": "0"}),)))
        for endpoint in self.both:
            endpoint.drop(step.conn)
        return difference

    def _stopped_halfway(self, names: dict[str, str]) -> bool:
        """Whether Java has the group but not the lease, after an exception (see `no-ghosts`)."""
        cluster, broker, addr = (self._state.fill(name) for name in names.values())
        self._refresh_groups()
        return broker in self._state.groups and not self.reference.is_live(cluster, addr)

    def _learn(self, step: Ask) -> None:
        state = self._state
        if step.code == 104:
            self._await_unregistration()
        elif step.code == 318:
            state.restart_settings |= setting_lines(step).keys() - RUN_TIME_SETTINGS
        elif step.code == 216:
            self._record_lost_mappings()
            topic = state.fill((step.ext or {}).get("topic", ""))
            state.forgotten_mappings |= {pair for pair in state.mapped if pair[0] == topic}
        if step.flag & 2 and step.code in CHANGING_CODES:
            self._await_agreement()

    def _repair(self, repair: Repair) -> None:
        if repair.gone is not None:
            self._refresh_groups()
            broker, addr = repair.gone
            group = self._state.groups.get(broker)
            if group is not None and addr in group.members.values():
                return
        for request in repair.requests:
            for endpoint in self.both:
                endpoint.exchange(request.conn, request.data(self._state.tag), expect="answer")
        self._await_unregistration()

    # --- what happens a moment later ----------------------------------------------------------------------------------

    def _await_unregistration(self) -> None:
        for endpoint in self.both:
            endpoint.barrier()
        self._remove_expired()

    def _await_removal(self, keys: Iterable[tuple[str, str]]) -> None:
        """Java removes the brokers of a closed connection asynchronously; the next step must wait."""
        for cluster, addr in keys:
            for endpoint in self.both:
                endpoint.until(partial(endpoint.is_gone, cluster, addr))
                endpoint.ask(304)  # takes the lock that the removal holds to its end
        self._remove_expired()

    def _remove_expired(self) -> None:
        state = self._state
        state.leases = {key: lease for key, lease in state.leases.items() if self.reference.is_live(*key)}
        self._record_lost_mappings()

    def _record_lost_mappings(self) -> None:
        """Routebook removes static mappings with their topic and broker; Java keeps them."""
        state = self._state
        if not state.mapped:
            return
        hosted = set()
        for topic in {topic for topic, _ in state.mapped}:
            body = self.reference.ask(105, {"topic": topic}).body
            queues = parse_body(body)["queueDatas"] if body else []
            hosted |= {(topic, queue["brokerName"]) for queue in queues}
        self._refresh_groups()
        orphans = {(topic, broker) for topic, broker in state.mapped if broker not in state.groups}
        state.forgotten_mappings |= (state.hosted - hosted) | orphans
        state.hosted = hosted & state.mapped

    def _refresh_groups(self) -> None:
        table = self.reference.cluster_info()["brokerAddrTable"]
        self._state.groups = {name: Group.parse(data) for name, data in table.items()}

    # --- the whole state ----------------------------------------------------------------------------------------------

    def _compare_everything(self) -> Difference | None:
        if time.monotonic() - self._kept_alive_at > KEEP_ALIVE_S:
            self._kept_alive_at = time.monotonic()
            for endpoint in self.both:
                endpoint.keep_alive()
        return self._compare_all(_everything())


def _everything() -> list[Ask]:
    """Requests whose replies together contain the whole tables."""
    plain = [Ask(conn=VIEW, code=code) for code in (106, 206, 304, 311, 312, 313, 319)]
    routes = [Ask(conn=VIEW, code=105, ext={"topic": topic}, version=v) for topic in TOPICS for v in (513, 400)]
    zones = [
        Ask(conn=VIEW, code=105, ext={"topic": topic, "__ZONE_MODE": "true", "__ZONE_NAME": "z1"}) for topic in TOPICS
    ]
    clusters = [Ask(conn=VIEW, code=224, ext={"cluster": cluster}) for cluster in CLUSTERS]
    namespaces = [Ask(conn=VIEW, code=219, ext={"namespace": namespace}) for namespace in NAMESPACES]
    groups = [Ask(conn=VIEW, code=901, ext={"clusterName": b.cluster, "brokerName": b.name}) for b in BROKERS]
    versions = [_ask_data_version((broker.cluster, addr), b"") for broker in BROKERS for addr in broker.addrs]
    return [*plain, *routes, *zones, *clusters, *namespaces, *groups, *versions]


def _ask_data_version(key: tuple[str, str], version: bytes) -> Ask:
    ext = {"clusterName": key[0], "brokerAddr": key[1], "brokerName": "any", "brokerId": "0"}
    return Ask(conn=VIEW, code=322, ext=ext, body=version)
