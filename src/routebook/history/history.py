"""Questions about the past. Each takes milliseconds of SQLite: ask on a thread, never on the event loop."""

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final

from routebook.history.answers import (
    BrokerTimeline,
    BrokerVersion,
    PastBroker,
    PastBrokers,
    PastRoute,
    RouteTimeline,
    RouteVersion,
)
from routebook.history.lookup import Brokers, Part, TopicLookup
from routebook.history.moments import Moments, Run
from routebook.history.schema import connect
from routebook.history.steps import State, build_route, queue_sums, steps_between

_MAX_TRIED: Final = 5000  # events that might have changed a route but did not, before the search is given up


class History:
    """What an index file knows. Any thread may ask; questions wait for each other.

    `now_ms` is the clock of the server that feeds the index: while it runs, silence means that nothing changed.
    """

    def __init__(self, path: Path, *, now_ms: Callable[[], int] | None = None) -> None:
        self._path = path
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def route_at(self, topic: str, at_ms: int) -> PastRoute:
        """The topic's route at a time, as the tables had it."""
        with self._reading() as (db, moments):
            seq = moments.number_at(at_ms)
            topics = TopicLookup(db, topic)
            state = _state(topics, seq)
            began = next(_real_changes(topics, moments, topics.earlier(seq)), None)
            ended = next(_real_changes(topics, moments, topics.later(seq)), None)
            return PastRoute(
                topic=topic,
                at_ms=at_ms,
                route=build_route(state, Brokers(db).name),
                valid_from_ms=None if began is None else moments.time_of(began[1]),
                valid_to_ms=None if ended is None else moments.time_of(ended[1]),
                cause=None if began is None else moments.cause(began[1]),
                certainty=moments.certainty(at_ms, seq),
            )

    def brokers_at(self, at_ms: int) -> PastBrokers:
        """All broker groups at a time."""
        with self._reading() as (db, moments):
            seq = moments.number_at(at_ms)
            lookup = Brokers(db)
            found = [
                PastBroker(
                    broker=name,
                    cluster=group.cluster,
                    addrs=group.addrs,
                    acting_master=group.acting_master,
                    zone=group.zone,
                    since_ms=_time(moments, lookup.since(broker, seq)),
                )
                for broker, name in lookup.all()
                if (group := lookup.group(broker, seq)) is not None
            ]
            return PastBrokers(at_ms=at_ms, brokers=found, certainty=moments.certainty(at_ms, seq))

    def timeline(self, topic: str, *, limit: int = 20, before_ms: int | None = None) -> RouteTimeline:
        """The newest versions of a topic's route, newest first; `before_ms`: of those that began not later."""
        with self._reading() as (db, moments):
            newest = moments.newest()
            seq = newest if before_ms is None else moments.number_at(before_ms)
            topics, name = TopicLookup(db, topic), Brokers(db).name
            state = _state(topics, seq)
            ended = next(_real_changes(topics, moments, topics.later(seq)), None) if seq < newest else None
            ended_ms = None if ended is None else moments.time_of(ended[1])
            versions: list[RouteVersion] = []
            more = False
            for run, caused_by, before in _real_changes(topics, moments, topics.earlier(seq)):
                if len(versions) >= limit:
                    more = True
                    break
                earlier = state.replaced(before)
                read, write = queue_sums(state)
                began_ms = moments.time_of(run.first)
                versions.append(
                    RouteVersion(
                        valid_from_ms=began_ms,
                        valid_to_ms=ended_ms,
                        cause=moments.cause(caused_by),
                        steps=steps_between(earlier, state, name),
                        brokers=sorted(map(name, state.parts)),
                        read_queues=read,
                        write_queues=write,
                    )
                )
                state, ended_ms = earlier, began_ms
            at_ms = moments.progress.at_max if before_ms is None else before_ms
            return RouteTimeline(topic=topic, versions=versions, more=more, certainty=moments.certainty(at_ms, seq))

    def broker_timeline(self, broker: str, *, limit: int = 20) -> BrokerTimeline:
        """The newest versions of a broker group, newest first."""
        with self._reading() as (db, moments):
            lookup, seq = Brokers(db), moments.newest()
            number = lookup.number(broker)
            versions: list[BrokerVersion] = []
            ended_ms: int | None = None
            more = False
            for change in () if number is None else lookup.changes(number, seq):
                run = moments.run_of(change)
                if number is None or run is None or len(versions) >= limit:
                    more = run is not None
                    break
                group = lookup.group(number, change)
                began_ms = moments.time_of(change)
                versions.append(
                    BrokerVersion(
                        valid_from_ms=began_ms,
                        valid_to_ms=ended_ms,
                        cause=moments.cause(change),
                        cluster=None if group is None else group.cluster,
                        addrs={} if group is None else group.addrs,
                        acting_master=group is not None and group.acting_master,
                        zone=None if group is None else group.zone,
                    )
                )
                ended_ms = began_ms
            certainty = moments.certainty(moments.progress.at_max, seq)
            return BrokerTimeline(broker=broker, versions=versions, more=more, certainty=certainty)

    def close(self) -> None:
        with self._lock:
            self._let_go()

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Moments]]:
        """One state of the index for a whole answer, whatever is written meanwhile."""
        with self._lock:
            if self._db is None:
                self._db = connect(self._path, read_only=True)
            try:
                self._db.execute("BEGIN")
                yield self._db, Moments(self._db, now_ms=None if self._now_ms is None else self._now_ms())
                self._db.execute("COMMIT")
            except BaseException:
                self._let_go()  # the file may have been set aside: the next question opens the new one
                raise

    def _let_go(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


def _state(topics: TopicLookup, seq: int) -> State:
    parts = {broker: part for broker in topics.brokers if (part := topics.part(broker, seq)) is not None}
    return State(parts, topics.mappings(seq))


def _real_changes(
    topics: TopicLookup, moments: Moments, candidates: Iterable[tuple[int, int | None]]
) -> Iterator[tuple[Run, int, State]]:
    """Changes that the route shows: when, by which event, and what it was like before in what changed.

    Of the events of one change, the first that concerns the route is its cause.
    """
    tried = 0
    for run, hits in groupby(candidates, key=lambda hit: moments.run_of(hit[0])):
        if run is None or (tried := tried + 1) > _MAX_TRIED:
            return
        found = list(hits)
        brokers = {broker for _, broker in found if broker is not None}
        before = {broker: topics.part(broker, run.first - 1) for broker in brokers}
        after = {broker: topics.part(broker, run.last) for broker in brokers}
        changed: dict[int, Part | None] = {broker: part for broker, part in before.items() if part != after[broker]}
        mappings = topics.mappings(run.first - 1)
        if changed or (len(brokers) < len(set(found)) and mappings != topics.mappings(run.last)):
            yield run, min(seq for seq, _ in found), State(changed, mappings)


def _time(moments: Moments, seq: int | None) -> int | None:
    return None if seq is None or moments.run_of(seq) is None else moments.time_of(seq)
