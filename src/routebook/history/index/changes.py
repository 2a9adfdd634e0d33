"""Which events changed a topic's route, of those that may have."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Final, NamedTuple

from routebook.history.index.steps import State
from routebook.history.query.lookup import TopicLookup
from routebook.history.query.moments import Moments

_MAX_TRIED: Final = 5000  # changes in a row that the route does not show, before the search is given up


class RouteChange(NamedTuple):
    """A change that the route shows: the event that began it, and what was otherwise before."""

    cause: int
    before: State


def state_at(topics: TopicLookup, seq: int) -> State:
    """The route as of a number, in parts."""
    parts = {broker: part for broker in topics.brokers if (part := topics.part(broker, seq)) is not None}
    return State(parts, topics.mappings(seq))


class Changes:
    """Sifts events. `has_route` tells whether there is a route beside the event: without one no mapping shows."""

    def __init__(self, topics: TopicLookup, moments: Moments, has_route: Callable[[], bool]) -> None:
        self._topics = topics
        self._moments = moments
        self._has_route = has_route

    def among(self, candidates: Iterable[tuple[int, int | None]]) -> Iterator[RouteChange]:
        """The real ones, in the order of the candidates. Of the events of one request the first is the cause."""
        topics, in_vain = self._topics, 0
        for run, hits in groupby(candidates, key=lambda hit: self._moments.run_of(hit[0])):
            if run is None or in_vain >= _MAX_TRIED:
                return
            found = list(hits)
            brokers = {broker for _, broker in found if broker is not None}
            before = {broker: topics.part(broker, run.first - 1) for broker in brokers}
            changed = {broker: part for broker, part in before.items() if part != topics.part(broker, run.last)}
            mappings = topics.mappings(run.first - 1)
            is_mapping = any(broker is None for _, broker in found) and self._has_route()
            if changed or (is_mapping and mappings != topics.mappings(run.last)):
                in_vain = 0
                yield RouteChange(min(seq for seq, _ in found), State(changed, mappings))
            else:
                in_vain += 1
