"""Outcomes: events are recorded, effects performed, answers deferred until the disk or another server has answered."""

import asyncio
from collections.abc import Callable
from typing import cast

from routebook.codes import RequestCode, ResponseCode
from routebook.effects import AskProduct, CloseConnection, Effect, NotifyMinBroker, SaveKv
from routebook.events import DownReason, Event, KvChanged, RequestDenied
from routebook.handlers import Caller, Outcome
from routebook.journal.record import Record
from routebook.server.access.denials import Denials
from routebook.server.net.effects import EffectRunner
from routebook.server.net.outbound.cluster_test import ClusterTest
from routebook.server.net.outbound.min_broker_notices import MinBrokerNotices
from routebook.server.observe.event_log import EventLog
from routebook.server.state.config_saver import ConfigSaver
from routebook.server.state.recorder import Recorder
from routebook.wire.command import Reply
from tests.support.asynchronous import asynchronous

CALLER = Caller(7, "10.0.0.1:5000")
KV_CHANGED = KvChanged(namespace="n", key="k", before=None, after="v")
DENIED = Reply(code=ResponseCode.NO_PERMISSION, remark="black list")


class FakeSaver:
    def __init__(self) -> None:
        self.finish: list[Callable[[str | None], None]] = []

    def save(self, _effect: Effect, done: Callable[[str | None], None]) -> None:
        self.finish.append(done)


class FakeNotices:
    def __init__(self) -> None:
        self.sent: list[NotifyMinBroker] = []

    def send(self, notice: NotifyMinBroker) -> None:
        self.sent.append(notice)


class FakeClusterTest:
    def __init__(self) -> None:
        self.asked: dict[str, Callable[[Reply], None]] = {}

    def ask(self, topic: str, answer: Callable[[Reply], None]) -> None:
        self.asked[topic] = answer


class Bench:
    """An `EffectRunner` whose neighbours are fakes."""

    def __init__(self) -> None:
        self.published: list[Event] = []
        self.closed: list[tuple[int, DownReason]] = []
        self.failures: list[str] = []
        self.replies: list[Reply] = []
        self.saver, self.notices, self.cluster_test = FakeSaver(), FakeNotices(), FakeClusterTest()
        self.recorder = Recorder(event_log=EventLog(lambda: 0.0), ns="n", boot="b", publish=self._publish)
        self.denials = Denials(self.recorder, lambda: 1)
        self.runner = EffectRunner(
            recorder=self.recorder,
            denials=self.denials,
            saver=cast("ConfigSaver", self.saver),
            notices=cast("MinBrokerNotices", self.notices),
            cluster_test=cast("ClusterTest", self.cluster_test),
            close=lambda connection, reason: self.closed.append((connection, reason)),
            on_save_failed=self.failures.append,
            time=lambda: 2.0,
            wall_ms=lambda: 1,
        )

    def _publish(self, record: Record) -> None:
        assert not isinstance(record.event, bytes)
        self.published.append(cast("Event", record.event))

    def apply(self, outcome: Outcome, code: int = RequestCode.PUT_KV_CONFIG) -> bool:
        return self.runner.apply(outcome, caller=CALLER, code=code, answer=self.replies.append).is_deferred


def test_an_outcome_without_effects_is_answered_at_once() -> None:
    bench = Bench()
    assert not bench.apply(Outcome(Reply(), events=(KV_CHANGED,)))
    (event,) = bench.published
    assert isinstance(event, KvChanged)
    assert (event.key, event.peer, event.code) == ("k", "10.0.0.1:5000", RequestCode.PUT_KV_CONFIG)


def test_denials_pass_the_limit_on_denial_records() -> None:
    bench = Bench()
    for _ in range(100):
        assert not bench.apply(Outcome(DENIED, events=(RequestDenied(code=318, why="black list"),)), code=318)
    assert len(bench.published) == 1
    assert bench.denials.total == 100
    bench.denials.flush()
    assert [event.count for event in bench.published if isinstance(event, RequestDenied)] == [1, 99]


def test_an_answer_is_deferred_until_the_file_is_saved() -> None:
    bench = Bench()
    reply = Reply(remark="done")
    assert bench.apply(Outcome(reply, effects=(SaveKv(),)))
    assert bench.replies == []
    assert bench.runner.deferred(2.5) == (0, 0, 1, 500)
    bench.saver.finish[0](None)
    assert bench.replies == [reply]
    assert bench.runner.deferred(2.5) == (0, 0, 0, 0)


def test_a_file_that_cannot_be_saved_is_reported_in_the_answer() -> None:
    bench = Bench()
    assert bench.apply(Outcome(Reply(), effects=(SaveKv(),)))
    bench.saver.finish[0]("disk full")
    assert bench.failures == ["disk full"]
    assert bench.replies[0].code == ResponseCode.SYSTEM_ERROR
    assert "disk full" in (bench.replies[0].remark or "")


def test_an_answer_is_deferred_until_the_product_environment_has_answered() -> None:
    bench = Bench()
    assert bench.apply(Outcome(None, effects=(AskProduct("T"),)), code=RequestCode.GET_ROUTEINFO_BY_TOPIC)
    assert bench.runner.deferred(3.0) == (1, 1000, 0, 0)
    bench.cluster_test.asked["T"](Reply(body=b"route"))
    assert bench.replies == [Reply(body=b"route")]
    assert bench.runner.deferred(3.0).asking == 0


def test_notices_and_closes_are_performed_at_once() -> None:
    bench = Bench()
    notice = NotifyMinBroker(recipients=("a:1",), min_broker_id=0, min_broker_addr="a:1")
    assert not bench.apply(Outcome(Reply(), effects=(notice, CloseConnection(9, DownReason.REPLACED))))
    assert bench.notices.sent == [notice]
    assert bench.closed == [(9, DownReason.REPLACED)]


@asynchronous
async def test_without_a_journal_nothing_waits_for_the_disk() -> None:
    bench = Bench()
    assert not bench.apply(Outcome(Reply(), events=(KV_CHANGED,)), code=RequestCode.PUT_KV_CONFIG)
    await asyncio.sleep(0)
    assert bench.replies == []
