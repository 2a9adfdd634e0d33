"""What clients saw of each topic: how often they asked, and for how long there was no route, or nothing to write to.

Pure; times are seconds of any clock that only grows. A client knows only when it asks, so a stretch without a route
lasts from the look-up that found none to the one that found one.
"""

import msgspec


class TopicSeen(msgspec.Struct, kw_only=True):
    """All clients' view of one topic; times are those of the client that fared worst."""

    topic: str
    lookups: int = 0
    misses: int = 0
    errors: int = 0
    clients: int = 0  # that were without a route at some time
    without_route_s: float = 0.0
    longest_s: float = 0.0  # without a route, at one stretch
    without_queue_s: float = 0.0  # with or without a route, no queue to write to


class _Eye:
    """One client's view of one topic."""

    __slots__ = ("longest_s", "no_queue_since", "no_queue_total", "no_route_since", "no_route_total", "routes")

    def __init__(self) -> None:
        self.no_route_since: float | None = None
        self.no_queue_since: float | None = None
        self.no_route_total = 0.0
        self.no_queue_total = 0.0
        self.longest_s = 0.0
        self.routes = 0

    def saw(self, now_s: float, *, route: bool, writable: bool) -> None:
        self.routes += route
        if route and self.no_route_since is not None:
            stretch = now_s - self.no_route_since
            self.no_route_total += stretch
            self.longest_s = max(self.longest_s, stretch)
            self.no_route_since = None
        elif not route and self.no_route_since is None:
            self.no_route_since = now_s
        if writable and self.no_queue_since is not None:
            self.no_queue_total += now_s - self.no_queue_since
            self.no_queue_since = None
        elif not writable and self.no_queue_since is None:
            self.no_queue_since = now_s


class Sightings:
    """Told of every look-up."""

    def __init__(self) -> None:
        self._topics: dict[str, TopicSeen] = {}
        self._eyes: dict[tuple[str, int], _Eye] = {}

    def saw(self, topic: str, client: int, now_s: float, *, route: bool, writable: bool) -> None:
        """A NameServer answered."""
        seen = self._seen(topic)
        seen.lookups += 1
        seen.misses += not route
        eye = self._eyes.get((topic, client))
        if eye is None:
            eye = self._eyes[topic, client] = _Eye()
        eye.saw(now_s, route=route, writable=writable)

    def failed(self, topic: str, client: int, now_s: float) -> None:
        """Nobody answered: what the client knew stands, as in Java; one that knew nothing knows nothing still."""
        seen = self._seen(topic)
        seen.lookups += 1
        seen.errors += 1
        eye = self._eyes.get((topic, client))
        if eye is None:
            eye = self._eyes[topic, client] = _Eye()
        if not eye.routes:
            eye.saw(now_s, route=False, writable=False)

    def without_route(self) -> int:
        """How many topics some client has no route of, now."""
        return len({topic for (topic, _), eye in self._eyes.items() if eye.no_route_since is not None})

    def report(self, now_s: float) -> list[TopicSeen]:
        """All topics by name; what still lasts, lasts until now."""
        seen = {topic: msgspec.structs.replace(one) for topic, one in self._topics.items()}
        for (topic, _), eye in self._eyes.items():
            one = seen[topic]
            open_route = 0.0 if eye.no_route_since is None else now_s - eye.no_route_since
            open_queue = 0.0 if eye.no_queue_since is None else now_s - eye.no_queue_since
            no_route = eye.no_route_total + open_route
            one.clients += no_route > 0
            one.without_route_s = max(one.without_route_s, no_route)
            one.longest_s = max(one.longest_s, eye.longest_s, open_route)
            one.without_queue_s = max(one.without_queue_s, eye.no_queue_total + open_queue)
        return [seen[topic] for topic in sorted(seen)]

    def _seen(self, topic: str) -> TopicSeen:
        seen = self._topics.get(topic)
        if seen is None:
            seen = self._topics[topic] = TopicSeen(topic=topic)
        return seen
