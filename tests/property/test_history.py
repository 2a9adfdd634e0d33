"""History beside a naive replay: at any time the index says what replaying the journal up to then says."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from routebook.history.index.indexer import Indexer
from routebook.history.index.schema import open_index
from routebook.history.query.history import History
from routebook.journal.read.reader import Line
from routebook.journal.record import Record
from routebook.model import TopicRoute
from tests.support.random_traffic import (
    PLAIN,
    TOPICS,
    Traffic,
    groups_of,
    prefix_at,
    running_max,
    sorted_route,
    tables_after,
)


def index(path: Path, records: Sequence[Record], *, batch: int) -> None:
    """In batches, each by an indexer that knows nothing but the file."""
    for start in range(0, len(records), batch):
        db = open_index(path)
        indexer = Indexer(db)
        for record in records[start : start + batch]:
            indexer.add(Line(record=record, raw=b"", file="", number=0))
        indexer.commit()
        db.close()


def naive(records: Sequence[Record], topic: str, at_ms: int) -> TopicRoute | None:
    return sorted_route(tables_after(prefix_at(records, at_ms)).route(topic, PLAIN))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 80), batch=st.sampled_from([7, 50, 1000]))
def test_any_past_is_as_the_tables_were(seed: int, steps: int, batch: int) -> None:
    traffic = Traffic(seed)
    records = traffic.run(steps)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        index(path, records, batch=batch)
        history = History(path)
        times = {*running_max(records), *(record.at for record in records)}
        for at_ms in traffic.random.sample(sorted(times), min(len(times), 8)):
            table = tables_after(prefix_at(records, at_ms))
            brokers = history.brokers_at(at_ms).brokers
            shown = {b.broker: (b.cluster, b.addrs, b.acting_master, b.zone) for b in brokers}
            assert shown == groups_of(table.cluster_info())
            for topic in traffic.random.sample(TOPICS, 5):
                past = history.route_at(topic, at_ms)
                assert past.route == sorted_route(table.route(topic, PLAIN))
                check_validity(records, topic, past.valid_from_ms, past.valid_to_ms, at_ms)
        history.close()


def check_validity(
    records: Sequence[Record], topic: str, valid_from_ms: int | None, valid_to_ms: int | None, at_ms: int
) -> None:
    """Within its bounds the route is the same at all times, just outside it is another."""
    route = naive(records, topic, at_ms)
    begin = records[0].at if valid_from_ms is None else valid_from_ms
    end = running_max(records)[-1] + 1 if valid_to_ms is None else valid_to_ms
    assert begin <= max(at_ms, records[0].at)
    assert at_ms < end
    for time in {*running_max(records)}:
        if begin <= time < end:
            assert naive(records, topic, time) == route
    went_back = any(record.at < latest for record, latest in zip(records, running_max(records), strict=True))
    # it may have changed twice at what is one time to us, or a filter server is now another broker's of the address
    shares = route is not None and route.filter_server_table
    if valid_to_ms is not None and not went_back and not shares:
        assert naive(records, topic, valid_to_ms) != route


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 80))
def test_what_retention_leaves_is_as_it_was(seed: int, steps: int) -> None:
    traffic = Traffic(seed)
    records = traffic.run(steps)
    first = traffic.random.randrange(len(records)) + 1
    times = {*running_max(records)[first - 1 :]}
    questions = [(topic, at_ms) for topic in TOPICS[::5] for at_ms in traffic.random.sample(sorted(times), 1)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        index(path, records, batch=50)
        history = History(path)
        before = [(history.route_at(topic, at_ms).route, history.brokers_at(at_ms)) for topic, at_ms in questions]
        db = open_index(path)
        indexer = Indexer(db)
        indexer.prune_before(first, records[first - 1].at)
        after = [(history.route_at(topic, at_ms).route, history.brokers_at(at_ms)) for topic, at_ms in questions]
        db.close()
        history.close()
    assert [route for route, _ in after] == [route for route, _ in before]
    shown = [[(b.broker, b.cluster, b.addrs, b.zone) for b in past.brokers] for _, past in after]
    assert shown == [[(b.broker, b.cluster, b.addrs, b.zone) for b in past.brokers] for _, past in before]


def shown_of(route: TopicRoute | None) -> tuple[list[str], int]:
    """What a version of a timeline shows of a route."""
    if route is None:
        return [], 0
    return [data.broker_name for data in route.broker_datas], sum(queue.read_queue_nums for queue in route.queue_datas)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 80))
def test_a_timeline_has_every_version(seed: int, steps: int) -> None:
    traffic = Traffic(seed)
    records = traffic.run(steps)
    topic = traffic.random.choice(TOPICS)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        index(path, records, batch=1000)
        history = History(path)
        timeline = history.timeline(topic, limit=1000)
        short = history.timeline(topic, limit=3)
        history.close()
    expected = [shown_of(route) for route in naive_versions(records, topic)]
    found = [(version.brokers, version.read_queues) for version in reversed(timeline.versions)]
    shares = any(route is not None and route.filter_server_table for route in naive_versions(records, topic))
    if (
        shares
    ):  # a filter server that two brokers of one address announce: who of them does is a version that shows nothing
        left = iter(found)
        assert all(version in left for version in expected), "every version, in order"
    else:
        assert found == expected
    assert all(version.steps for version in timeline.versions)
    assert not timeline.more
    assert short.versions == timeline.versions[:3]
    assert short.more == (len(expected) > 3)


def naive_versions(records: Sequence[Record], topic: str) -> list[TopicRoute | None]:
    """A route after each run of records of one time, where it is another than before."""
    versions: list[TopicRoute | None] = [None]
    for end, record in enumerate(records, 1):
        if end == len(records) or records[end].at != record.at:
            route = sorted_route(tables_after(records[:end]).route(topic, PLAIN))
            if route != versions[-1]:
                versions.append(route)
    return versions[1:]
