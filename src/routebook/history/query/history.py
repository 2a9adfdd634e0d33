"""History queries. Each takes milliseconds in SQLite: call them on a thread, never on the event loop."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from routebook.errors import HistoryError
from routebook.history.index.schema import connect
from routebook.history.query.activity import ActivityPoint, activity
from routebook.history.query.answers import (
    BrokerTimeline,
    BrokerVersion,
    Certainty,
    PastBroker,
    PastBrokers,
    PastRoute,
    PastTopic,
    PastTopics,
    RouteTimeline,
    RouteVersion,
)
from routebook.history.query.controller_sets import Elections, PastSetAnswer, PastSets, SetLookup
from routebook.history.query.event_times import EventTimes
from routebook.history.query.lookup import BrokerLookup, TopicLookup
from routebook.history.query.route_versions import RouteChanges, build_route, queue_sums, route_state, steps_between
from routebook.history.query.sessions import ServerRun, Session, server_runs, sessions_of
from routebook.lenient_json import from_blob, to_blob
from routebook.times import format_time

_MAX_TOPICS_READ: Final = 2000  # per page of past topics


class History:
    """Queries over an index file. Thread-safe; queries run one at a time and raise HistoryError.

    `now_ms` is the clock of the server that fills the index: while it runs, no new records means no change. While
    `is_catching_up`, times after the last indexed record are unknown and raise HistoryError.
    """

    def __init__(
        self,
        path: Path,
        *,
        now_ms: Callable[[], int] | None = None,
        is_catching_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self._path = path
        self._now_ms = now_ms
        self._is_catching_up = is_catching_up
        self._lock = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._file: int | None = None  # its inode: a rebuilt index is another file

    def route_at(self, topic: str, at_ms: int) -> PastRoute:
        """Return the topic's route at a time, as the route tables had it."""
        with self._reading() as (db, times):
            seq = self._seq_at(times, at_ms)
            topics = TopicLookup(db, topic)
            state = route_state(topics, seq)
            changes = RouteChanges(topics, times, lambda: bool(state.parts))
            began = next(changes.among(topics.earlier(seq)), None)
            ended = next(changes.among(topics.later(seq)), None)
            return PastRoute(
                topic=topic,
                at_ms=at_ms,
                route=build_route(state, BrokerLookup(db).name),
                valid_from_ms=None if began is None else times.time_of(began.cause),
                valid_to_ms=None if ended is None else times.time_of(ended.cause),
                cause=None if began is None else times.cause(began.cause),
                certainty=times.certainty(at_ms, seq),
            )

    def brokers_at(self, at_ms: int) -> PastBrokers:
        """Return all broker groups at a time."""
        with self._reading() as (db, times):
            seq = self._seq_at(times, at_ms)
            lookup = BrokerLookup(db)
            found = [
                PastBroker(
                    broker=name,
                    cluster=group.cluster,
                    addrs=group.addrs,
                    acting_master=group.acting_master,
                    zone=group.zone,
                    since_ms=times.time_if_kept(lookup.since(broker, seq)),
                )
                for broker, name in lookup.all()
                if (group := lookup.group(broker, seq)) is not None
            ]
            return PastBrokers(at_ms=at_ms, brokers=found, certainty=times.certainty(at_ms, seq))

    def topics_at(self, at_ms: int, *, part: str = "", after: str = "", limit: int = 100) -> PastTopics:
        """Return a page of the topics that had a route at a time and whose name contains a text, by name."""
        with self._reading() as (db, times):
            seq = self._seq_at(times, at_ms)
            sql = "SELECT name FROM topics WHERE name > ? AND instr(lower(CAST(name AS TEXT)), ?) ORDER BY name LIMIT ?"
            rows = db.execute(sql, (to_blob(after), part.lower(), _MAX_TOPICS_READ)).fetchall()
            found: list[PastTopic] = []
            last = None
            for read, (blob,) in enumerate(rows, start=1):
                name = from_blob(blob)
                state = route_state(TopicLookup(db, name), seq)
                if state.parts:
                    queues = dict(zip(("read_queues", "write_queues"), queue_sums(state), strict=True))
                    found.append(PastTopic(name=name, brokers=len(state.parts), **queues))
                if len(found) == limit or read == _MAX_TOPICS_READ:
                    last = name if read < len(rows) or read == _MAX_TOPICS_READ else None
                    break
            return PastTopics(at_ms=at_ms, topics=found, next=last, certainty=times.certainty(at_ms, seq))

    def timeline(self, topic: str, *, limit: int = 20, before_ms: int | None = None) -> RouteTimeline:
        """Return the newest versions of a topic's route, newest first; with `before_ms`, those that began by then."""
        with self._reading() as (db, times):
            seq = times.newest() if before_ms is None else self._seq_at(times, before_ms)
            topics, name = TopicLookup(db, topic), BrokerLookup(db).name
            state = route_state(topics, seq)
            changes = RouteChanges(topics, times, lambda: bool(state.parts))
            ended = next(changes.among(topics.later(seq)), None)
            ended_ms = None if ended is None else times.time_of(ended.cause)
            versions: list[RouteVersion] = []
            more = False
            for change in changes.among(topics.earlier(seq)):
                if len(versions) >= limit:
                    more = True
                    break
                earlier = state.replaced(change.before)
                read, write = queue_sums(state)
                began_ms = times.time_of(change.cause)
                versions.append(
                    RouteVersion(
                        valid_from_ms=began_ms,
                        valid_to_ms=ended_ms,
                        cause=times.cause(change.cause),
                        steps=steps_between(earlier, state, name),
                        brokers=sorted(map(name, state.parts)),
                        read_queues=read,
                        write_queues=write,
                    )
                )
                state, ended_ms = earlier, began_ms
            at_ms = times.progress.at_max if before_ms is None else before_ms
            return RouteTimeline(topic=topic, versions=versions, more=more, certainty=times.certainty(at_ms, seq))

    def broker_timeline(self, broker: str, *, limit: int = 20) -> BrokerTimeline:
        """Return the newest versions of a broker group, newest first."""
        with self._reading() as (db, times):
            lookup, seq = BrokerLookup(db), times.newest()
            number = lookup.number(broker)
            versions: list[BrokerVersion] = []
            ended_ms: int | None = None
            more = False
            for change in () if number is None else lookup.changes(number, seq):
                request = times.request_range(change)
                if number is None or request is None or len(versions) >= limit:
                    more = request is not None
                    break
                group = lookup.group(number, change)
                began_ms = times.time_of(change)
                versions.append(
                    BrokerVersion(
                        valid_from_ms=began_ms,
                        valid_to_ms=ended_ms,
                        cause=times.cause(change),
                        cluster=None if group is None else group.cluster,
                        addrs={} if group is None else group.addrs,
                        acting_master=group is not None and group.acting_master,
                        zone=None if group is None else group.zone,
                    )
                )
                ended_ms = began_ms
            certainty = times.certainty(times.progress.at_max, seq)
            return BrokerTimeline(broker=broker, versions=versions, more=more, certainty=certainty)

    def sessions(self, broker: str, *, since_ms: int) -> tuple[list[Session], list[ServerRun], Certainty] | None:
        """Return the members' sessions and the NameServer's runs since a time; None if the group is unknown."""
        with self._reading() as (db, times):
            number = BrokerLookup(db).number(broker)
            if number is None:
                return None
            found = sessions_of(db, number, times.progress, since_ms=since_ms)
            return (
                found,
                self._runs(db, times, since_ms),
                times.certainty(times.progress.at_max, times.newest()),
            )

    def members(self, *, since_ms: int) -> tuple[dict[str, list[Session]], int]:
        """Return all groups' sessions that did not end before a time, and the newest indexed sequence number."""
        with self._reading() as (db, times):
            found = {
                name: sessions_of(db, broker, times.progress, since_ms=since_ms)
                for broker, name in BrokerLookup(db).all()
            }
            return found, times.progress.last_seq

    def runs(self) -> list[ServerRun]:
        """Return when the NameServer ran, oldest first."""
        with self._reading() as (db, times):
            return self._runs(db, times, 0)

    def set_at(self, broker: str, at_ms: int) -> PastSetAnswer:
        """Return a broker set of the Controller at a time: its master, since when, and why."""
        with self._reading() as (db, times):
            seq = times.seq_at(at_ms)
            sets, certainty = SetLookup(db, times), times.certainty(at_ms, seq)
            led = certainty.observed and sets.led(seq)
            return PastSetAnswer(broker=broker, at_ms=at_ms, set=sets.one(broker, seq), led=led, certainty=certainty)

    def sets_at(self, at_ms: int) -> PastSets:
        """Return all broker sets of the Controller at a time."""
        with self._reading() as (db, times):
            seq = times.seq_at(at_ms)
            sets, certainty = SetLookup(db, times), times.certainty(at_ms, seq)
            led = certainty.observed and sets.led(seq)
            return PastSets(at_ms=at_ms, sets=sets.all(seq), led=led, certainty=certainty)

    def elections(self, broker: str | None = None, *, limit: int = 20, before_ms: int | None = None) -> Elections:
        """Return the newest elections, of one set or of all, newest first."""
        with self._reading() as (db, times):
            found, more = SetLookup(db, times).elections(broker=broker, before_ms=before_ms, limit=limit)
            certainty = times.certainty(times.progress.at_max, times.newest())
            return Elections(elections=found, more=more, certainty=certainty)

    def topic_names(self, part: str, *, limit: int) -> list[str]:
        """Return recorded topic names that contain a text, ignoring case, also of deleted topics."""
        with self._reading() as (db, _):
            sql = "SELECT name FROM topics WHERE instr(lower(CAST(name AS TEXT)), ?) LIMIT ?"
            return [from_blob(name) for (name,) in db.execute(sql, (part.lower(), limit))]

    def activity(self, *, from_ms: int, step_ms: int, steps: int) -> tuple[list[ActivityPoint], Certainty]:
        """Return the number of brokers and the counts of changes, per time step."""
        with self._reading() as (db, times):
            observed = self._runs(db, times, from_ms)
            points = activity(db, times, observed, from_ms=from_ms, step_ms=step_ms, steps=steps)
            return points, times.certainty(from_ms, times.seq_at(from_ms))

    def close(self) -> None:
        with self._lock:
            self._close_db()

    def _runs(self, db: sqlite3.Connection, times: EventTimes, since_ms: int) -> list[ServerRun]:
        now_ms = None if self._now_ms is None else self._now_ms()
        return server_runs(db, times.progress, since_ms=since_ms, now_ms=now_ms)

    def _seq_at(self, times: EventTimes, at_ms: int) -> int:
        """Return the last event up to a time. Raises HistoryError if the index has not reached that time."""
        reached_ms = times.progress.at_max
        if at_ms > reached_ms and self._is_catching_up():
            until = "no record" if times.progress.empty else format_time(reached_ms)
            raise HistoryError(f"the index is being built and has reached {until}")
        return times.seq_at(at_ms)

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, EventTimes]]:
        """Read one consistent state of the index (one transaction). Raises HistoryError."""
        with self._lock:
            try:
                db = self._open()
                db.execute("BEGIN")
                yield db, EventTimes(db, now_ms=None if self._now_ms is None else self._now_ms())
                db.execute("COMMIT")
            except (sqlite3.Error, OSError) as problem:
                self._close_db()
                raise HistoryError(f"the history index cannot be read: {problem}") from problem
            except BaseException:  # cleanup only: re-raised
                self._close_db()
                raise

    def _open(self) -> sqlite3.Connection:
        file = self._path.stat().st_ino
        if self._db is None or file != self._file:
            self._close_db()
            self._db, self._file = connect(self._path, read_only=True), file
        return self._db

    def _close_db(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
