"""Replay equals state: random traffic, a disk that fails and crashes, and what is known after the next start."""

import contextlib
import errno
import json
import random
from typing import Any

import hypothesis.strategies as st
import msgspec
from hypothesis import given, settings

from routebook.events import DownReason, ServerStarted
from routebook.handlers import Caller, NameServer, Outcome, dispatch
from routebook.journal.read.reader import Line, read
from routebook.journal.write.options import JournalOptions
from routebook.model import QueueData, Registration
from routebook.routes import RouteTable
from routebook.routes.image import capture
from routebook.server.observe.event_log import EventLog
from routebook.server.state.recorder import Recorder
from routebook.server.state.snapshots import LoadedSnapshot, Snapshot, decode, encode
from routebook.server.state.warm_start import recover_state
from routebook.settings import Settings
from routebook.wire.command import Command
from tests.property.test_route_table import BROKERS, TOPICS, connections, ids, keys, queue_datas, registrations
from tests.support.faulty_files import Crash, FaultyFiles
from tests.support.naive_fold import fold_journal, plain
from tests.support.route_tables import check_consistency

SETTINGS = Settings.build()
POLICIES = ("deleteTopicWithBrokerRegistration", "notifyMinBrokerIdChanged", "supportActingMaster")

steps = st.one_of(
    st.tuples(st.just("register"), registrations, connections),
    st.tuples(st.just("unregister"), keys, st.sampled_from(BROKERS), ids, connections),
    st.tuples(st.just("lose"), connections, st.sampled_from([DownReason.CLOSED, DownReason.IDLE])),
    st.tuples(st.just("wait"), st.sampled_from([1_000, 10_001, 120_001])),
    st.tuples(st.just("heartbeat"), keys),
    st.tuples(st.just("topic"), st.sampled_from(TOPICS), st.lists(queue_datas, min_size=1, max_size=3)),
    st.tuples(st.just("delete"), st.sampled_from(TOPICS), st.sampled_from([None, "C1", "C2"])),
    st.tuples(st.just("permit"), st.sampled_from(BROKERS), st.sampled_from([205, 327])),
    st.tuples(st.just("kv"), st.sampled_from([100, 102]), st.sampled_from(["k1", "k2"])),
    st.tuples(st.just("policy"), st.sampled_from(POLICIES), st.booleans()),
    st.tuples(st.just("commit")),
    st.tuples(st.just("snapshot")),
    st.tuples(st.just("stop")),
    st.tuples(st.just("crash"), st.integers(0, 6)),
)
outages = st.tuples(st.just("outage"), st.sampled_from([errno.ENOSPC, errno.EIO, None]))


def request(code: int, ext: dict[str, Any] | None = None, body: object = None) -> Command:
    fields = {key: value for key, value in (ext or {}).items() if value is not None}
    return Command(code=code, opaque=1, ext=fields, body=None if body is None else json.dumps(body).encode())


def registering(what: Registration) -> Command:
    """103 as a 5.x broker would send it."""
    said = what.body
    table = None
    if said.topics is not None:
        table = {config.topic_name: msgspec.to_builtins(config) for config in said.topics}
    wrapper = {
        "dataVersion": msgspec.to_builtins(said.data_version),
        "topicConfigTable": table,
        "topicQueueMappingInfoMap": {
            topic: msgspec.to_builtins(info, str_keys=True) for topic, info in said.mappings.items()
        },
    }
    acting = what.acting_master
    ext = {
        "clusterName": what.cluster,
        "brokerName": what.broker,
        "brokerAddr": what.addr,
        "brokerId": str(what.broker_id),
        "haServerAddr": what.ha_addr,
        "heartbeatTimeoutMillis": None if what.timeout_ms is None else str(what.timeout_ms),
        "enableActingMaster": None if acting is None else str(acting).lower(),
        "__ZONE_NAME": what.zone,
    }
    body = {"filterServerList": list(said.filter_servers or ()), "topicConfigSerializeWrapper": wrapper}
    return request(103, ext, body)


def queues_of(queues: list[QueueData]) -> dict[str, object]:
    return {"brokerDatas": [], "filterServerTable": {}, "queueDatas": [msgspec.to_builtins(q) for q in queues]}


class World:
    """A NameServer with its journal on a faulty disk; it dies, and another one starts from what the disk holds."""

    def __init__(self, seed: int, *, queue_records: int) -> None:
        self.files = FaultyFiles(rng=random.Random(seed))
        self.options = JournalOptions(queue_records=queue_records)
        self.now_ms = 0
        self.snapshots: list[bytes] = []
        self.promised: set[int] = set()  # numbers that were said to be on disk
        self.moments: dict[int, dict[str, Any]] = {}  # the tables when a number was the last
        self.handed_out: set[int] = set()  # by this start
        self.ever_handed_out: set[int] = set()
        self.lost = False  # whether records were dropped since the last snapshot
        self.start()

    def start(self) -> None:
        found = LoadedSnapshot(routes=RouteTable(), seq=0, last_seq=0, problems=())
        if self.snapshots:
            snapshot = decode(self.snapshots[-1], ns="n")
            routes = RouteTable()
            routes.restore(snapshot.tables)
            found = LoadedSnapshot(routes=routes, seq=snapshot.seq, last_seq=snapshot.seq, problems=())
        memory = recover_state(
            self.files,
            found,
            ns="n",
            settings=SETTINGS,
            now_ms=self.now_ms,
            wall_ms=lambda: self.now_ms,
            options=self.options,
        )
        self.memory = memory
        self.handed_out = set()
        check_consistency(memory.routes)
        self.nameserver = NameServer(SETTINGS, started_ms=self.now_ms, routes=memory.routes)
        self.recorder = Recorder(event_log=EventLog(lambda: 0.0), ns="n", boot=memory.boot, journal=memory.journal)
        self.found = plain(memory.routes)
        started = ServerStarted(version="v", listen="l", recovered=memory.recovered)
        self.record(Outcome(None, (started, *memory.repairs)))

    def record(self, outcome: Outcome) -> None:
        dropped = self.memory.journal.status().dropped_records
        before = self.recorder.last_seq
        seq = self.recorder.record(outcome.events, at_ms=self.now_ms)
        self.handed_out.update(range(before + 1, seq + 1))
        self.ever_handed_out |= self.handed_out
        self.lost |= self.memory.journal.status().dropped_records > dropped
        if seq:
            self.moments[seq] = plain(self.nameserver.routes)

    def do(self, step: tuple[Any, ...]) -> None:
        match step:
            case "register", what, connection:
                self.ask(registering(what), connection)
            case "unregister", key, broker, broker_id, connection:
                ext = {"clusterName": key.cluster, "brokerAddr": key.addr, "brokerName": broker}
                self.ask(request(104, {**ext, "brokerId": str(broker_id)}), connection)
            case "lose", connection, reason:
                self.record(self.nameserver.connection_lost(connection, reason, self.now_ms))
            case "wait", passed:
                self.now_ms += passed
                self.record(self.nameserver.scan(self.now_ms))
            case "heartbeat", key:
                self.ask(request(904, {"clusterName": key.cluster, "brokerAddr": key.addr}))
            case "topic", topic, queues:
                self.ask(request(217, {"topic": topic}, queues_of(queues)))
            case "delete", topic, cluster:
                self.ask(request(216, {"topic": topic, "clusterName": cluster}))
            case "permit", broker, code:
                self.ask(request(code, {"brokerName": broker}))
            case "kv", code, key:
                self.ask(request(code, {"namespace": "N", "key": key, "value": str(self.now_ms)}))
            case "policy", key, value:
                command = request(318)
                command.body = f"{key}={str(value).lower()}\n".encode()
                self.ask(command)
            case "outage", error:
                self.files.error = error
            case ("commit",):
                self.commit()
            case ("snapshot",):
                self.commit()
                self.snapshot()
            case ("stop",):
                self.stop()
            case "crash", calls:
                self.files.crash_in = calls
                with contextlib.suppress(Crash):
                    self.commit()
                self.restart()

    def ask(self, command: Command, connection: int = 9) -> None:
        self.record(dispatch(self.nameserver, command, Caller(connection, "x:1"), self.now_ms))

    def commit(self) -> None:
        while self.memory.journal.commit() and self.memory.journal.status().waiting_records:
            pass
        journal = self.memory.journal
        durable_seq, is_dropped = journal.status().durable_seq, journal._backlog.is_dropped
        self.promised |= {seq for seq in self.handed_out if seq <= durable_seq and not is_dropped(seq)}

    def snapshot(self) -> None:
        """Once the journal holds all that led to it, or cannot."""
        image = capture(self.nameserver.routes)
        self.snapshots.append(encode(Snapshot(ns="n", boot="b", seq=self.recorder.last_seq, at=0, tables=image)))
        self.moments[self.recorder.last_seq] = plain(self.nameserver.routes)  # the last events may have got no number
        self.lost = False

    def stop(self) -> None:
        """In order: as much of the journal as the disk takes, and a snapshot."""
        self.commit()
        self.snapshot()
        expected = plain(self.nameserver.routes)
        self.files.error = None
        self.memory.journal.stop()
        self.start()
        assert self.found == expected, "an orderly stop loses nothing"

    def restart(self) -> None:
        """From what a crash left."""
        self.files = self.files.after_crash()
        survived = self.ever_handed_out & {item.record.seq for item in read(self.files) if isinstance(item, Line)}
        self.start()
        _, numbers, _ = fold_journal(self.files)
        assert self.promised <= set(numbers), "what was said to be on disk is there"
        covered = decode(self.snapshots[-1], ns="n").seq if self.snapshots else 0
        last = max(survived | {covered})
        if not self.lost and last in self.moments:
            assert self.found == self.moments[last], "the tables of the last moment that survived"


@settings(max_examples=150, deadline=None)
@given(st.lists(steps, max_size=40), st.integers(0, 1 << 32))
def test_tables_after_a_crash_are_those_of_the_surviving_events(script: list[tuple[Any, ...]], seed: int) -> None:
    world = World(seed, queue_records=1000)
    for step in [*script, ("crash", 2)]:
        world.do(step)
        if step[0] == "crash":
            fold, _, holes = fold_journal(world.files)
            assert not [hole for hole in holes if hole.certain]
            assert world.found == fold.without_orphans().plain(), "a naive fold knows the same, without any snapshot"


@settings(max_examples=100, deadline=None)
@given(st.lists(steps | outages, max_size=40), st.integers(0, 1 << 32))
def test_with_outages_too_nothing_that_was_promised_is_lost(script: list[tuple[Any, ...]], seed: int) -> None:
    world = World(seed, queue_records=3)
    for step in script:
        world.do(step)
    world.files.error = None
    world.do(("stop",))
