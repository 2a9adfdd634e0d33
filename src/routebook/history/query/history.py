"""Questions about the past. Each takes milliseconds of SQLite: ask on a thread, never on the event loop."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from routebook.errors import HistoryError
from routebook.history.index.changes import Changes, state_at
from routebook.history.index.schema import connect
from routebook.history.index.steps import build_route, queue_sums, steps_between
from routebook.history.query.activity import StripPoint, strip
from routebook.history.query.answers import (
    BrokerTimeline,
    BrokerVersion,
    Certainty,
    PastBroker,
    PastBrokers,
    PastRoute,
    RouteTimeline,
    RouteVersion,
)
from routebook.history.query.lookup import Brokers, TopicLookup
from routebook.history.query.moments import Moments
from routebook.history.query.sessions import Run, Session, runs, sessions_of


class History:
    """What an index file knows. Any thread may ask; questions wait for each other, and raise HistoryError.

    `now_ms` is the clock of the server that feeds the index: while it runs, silence means that nothing changed.
    """

    def __init__(self, path: Path, *, now_ms: Callable[[], int] | None = None) -> None:
        self._path = path
        self._now_ms = now_ms
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._file: int | None = None  # which file that is: one that was made again has another number

    def route_at(self, topic: str, at_ms: int) -> PastRoute:
        """The topic's route at a time, as the tables had it."""
        with self._reading() as (db, moments):
            seq = moments.number_at(at_ms)
            topics = TopicLookup(db, topic)
            state = state_at(topics, seq)
            changes = Changes(topics, moments, lambda: bool(state.parts))
            began = next(changes.among(topics.earlier(seq)), None)
            ended = next(changes.among(topics.later(seq)), None)
            return PastRoute(
                topic=topic,
                at_ms=at_ms,
                route=build_route(state, Brokers(db).name),
                valid_from_ms=None if began is None else moments.time_of(began.cause),
                valid_to_ms=None if ended is None else moments.time_of(ended.cause),
                cause=None if began is None else moments.cause(began.cause),
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
                    since_ms=moments.time_if_kept(lookup.since(broker, seq)),
                )
                for broker, name in lookup.all()
                if (group := lookup.group(broker, seq)) is not None
            ]
            return PastBrokers(at_ms=at_ms, brokers=found, certainty=moments.certainty(at_ms, seq))

    def timeline(self, topic: str, *, limit: int = 20, before_ms: int | None = None) -> RouteTimeline:
        """The newest versions of a topic's route, newest first; `before_ms`: of those that began not later."""
        with self._reading() as (db, moments):
            seq = moments.newest() if before_ms is None else moments.number_at(before_ms)
            topics, name = TopicLookup(db, topic), Brokers(db).name
            state = state_at(topics, seq)
            changes = Changes(topics, moments, lambda: bool(state.parts))
            ended = next(changes.among(topics.later(seq)), None)
            ended_ms = None if ended is None else moments.time_of(ended.cause)
            versions: list[RouteVersion] = []
            more = False
            for change in changes.among(topics.earlier(seq)):
                if len(versions) >= limit:
                    more = True
                    break
                earlier = state.replaced(change.before)
                read, write = queue_sums(state)
                began_ms = moments.time_of(change.cause)
                versions.append(
                    RouteVersion(
                        valid_from_ms=began_ms,
                        valid_to_ms=ended_ms,
                        cause=moments.cause(change.cause),
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

    def sessions(self, broker: str, *, since_ms: int) -> tuple[list[Session], list[Run], Certainty] | None:
        """When the members were there since a time, and when the NameServer ran; None: nobody heard of the group."""
        with self._reading() as (db, moments):
            number = Brokers(db).number(broker)
            if number is None:
                return None
            found = sessions_of(db, number, moments.progress, since_ms=since_ms)
            return (
                found,
                self._runs(db, moments, since_ms),
                moments.certainty(moments.progress.at_max, moments.newest()),
            )

    def members(self, *, since_ms: int) -> tuple[dict[str, list[Session]], int]:
        """Sessions of all groups that had not ended before a time; and the newest record that is taken in."""
        with self._reading() as (db, moments):
            found = {
                name: sessions_of(db, broker, moments.progress, since_ms=since_ms) for broker, name in Brokers(db).all()
            }
            return found, moments.progress.last_seq

    def strip(self, *, from_ms: int, step_ms: int, steps: int) -> tuple[list[StripPoint], Certainty]:
        """How many brokers there were, and how much happened, in so many steps."""
        with self._reading() as (db, moments):
            observed = self._runs(db, moments, from_ms)
            points = strip(db, moments, observed, from_ms=from_ms, step_ms=step_ms, steps=steps)
            return points, moments.certainty(from_ms, moments.number_at(from_ms))

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _runs(self, db: sqlite3.Connection, moments: Moments, since_ms: int) -> list[Run]:
        now_ms = None if self._now_ms is None else self._now_ms()
        return runs(db, moments.progress, since_ms=since_ms, now_ms=now_ms)

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Moments]]:
        """One state of the index for a whole answer, whatever is written meanwhile. Raises HistoryError."""
        with self._lock:
            try:
                db = self._open()
                db.execute("BEGIN")
                yield db, Moments(db, now_ms=None if self._now_ms is None else self._now_ms())
                db.execute("COMMIT")
            except (sqlite3.Error, OSError) as problem:
                self._let_go()
                raise HistoryError(f"the history cannot be read just now: {problem}") from problem
            except BaseException:
                self._let_go()
                raise

    def _open(self) -> sqlite3.Connection:
        file = self._path.stat().st_ino
        if self._db is None or file != self._file:
            self._let_go()
            self._db, self._file = connect(self._path, read_only=True), file
        return self._db

    def _let_go(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
