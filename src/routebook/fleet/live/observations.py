"""What clients observed per topic: look-ups, misses, and the time without a route or a writable queue. Pure.

Times are seconds of a monotonic clock. An interval without a route lasts from the look-up that found none to the next
one that found one.
"""

import msgspec


class TopicObservation(msgspec.Struct, kw_only=True):
    """The observations of all clients for one topic; times are those of the worst client."""

    topic: str
    lookups: int = 0
    misses: int = 0
    errors: int = 0
    clients: int = 0  # without a route at some time
    without_route_s: float = 0.0
    longest_s: float = 0.0  # longest interval without a route
    without_queue_s: float = 0.0  # without a writable queue


class _ClientView:
    """The observations of one client for one topic."""

    __slots__ = ("longest_s", "no_queue_since", "no_queue_total", "no_route_since", "no_route_total", "routes")

    def __init__(self) -> None:
        self.no_route_since: float | None = None
        self.no_queue_since: float | None = None
        self.no_route_total = 0.0
        self.no_queue_total = 0.0
        self.longest_s = 0.0
        self.routes = 0

    def record(self, now_s: float, *, route: bool, writable: bool) -> None:
        self.routes += route
        if route and self.no_route_since is not None:
            interval_s = now_s - self.no_route_since
            self.no_route_total += interval_s
            self.longest_s = max(self.longest_s, interval_s)
            self.no_route_since = None
        elif not route and self.no_route_since is None:
            self.no_route_since = now_s
        if writable and self.no_queue_since is not None:
            self.no_queue_total += now_s - self.no_queue_since
            self.no_queue_since = None
        elif not writable and self.no_queue_since is None:
            self.no_queue_since = now_s


class Observations:
    """Collects the result of every look-up."""

    def __init__(self) -> None:
        self._topics: dict[str, TopicObservation] = {}
        self._views: dict[tuple[str, int], _ClientView] = {}

    def answered(self, topic: str, client: int, now_s: float, *, route: bool, writable: bool) -> None:
        """Record an answered look-up."""
        total, view = self._entries(topic, client)
        total.lookups += 1
        total.misses += not route
        view.record(now_s, route=route, writable=writable)

    def failed(self, topic: str, client: int, now_s: float) -> None:
        """Record an unanswered look-up: as in Java, the client keeps the route it has, if any."""
        total, view = self._entries(topic, client)
        total.lookups += 1
        total.errors += 1
        if not view.routes:
            view.record(now_s, route=False, writable=False)

    def without_route(self) -> int:
        """Return the number of topics for which some client currently has no route."""
        return len({topic for (topic, _), view in self._views.items() if view.no_route_since is not None})

    def report(self, now_s: float) -> list[TopicObservation]:
        """Return all topics sorted by name; open intervals end now."""
        totals = {topic: msgspec.structs.replace(total) for topic, total in self._topics.items()}
        for (topic, _), view in self._views.items():
            total = totals[topic]
            open_route = 0.0 if view.no_route_since is None else now_s - view.no_route_since
            open_queue = 0.0 if view.no_queue_since is None else now_s - view.no_queue_since
            no_route = view.no_route_total + open_route
            total.clients += no_route > 0
            total.without_route_s = max(total.without_route_s, no_route)
            total.longest_s = max(total.longest_s, view.longest_s, open_route)
            total.without_queue_s = max(total.without_queue_s, view.no_queue_total + open_queue)
        return [totals[topic] for topic in sorted(totals)]

    def _entries(self, topic: str, client: int) -> tuple[TopicObservation, _ClientView]:
        if topic not in self._topics:
            self._topics[topic] = TopicObservation(topic=topic)
        if (topic, client) not in self._views:
            self._views[topic, client] = _ClientView()
        return self._topics[topic], self._views[topic, client]
