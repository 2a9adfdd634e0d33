"""What a Routebook tells of its own accord: its stream of events, as hints to look at a route again."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

import httpx
import msgspec

from routebook.client.server_sent import EventLines

ROUTE_KINDS: Final = (
    "broker_up",
    "broker_changed",
    "broker_down",
    "topics_changed",
    "mappings_changed",
    "permission_wiped",
    "permission_restored",
    "topic_deleted",
    "kv_changed",
)
_ORDER_NAMESPACE: Final = "ORDER_TOPIC_CONFIG"
_CONNECT_S: Final = 5.0
_SILENT_S: Final = 45.0  # a living server says so every 15
_FIRST_WAIT_S: Final = 0.5
_LAST_WAIT_S: Final = 30.0


class Touched(msgspec.Struct, frozen=True):
    """Whose routes an event may have changed: of these topics, and of all on this broker."""

    topics: frozenset[str] = frozenset()
    broker: str | None = None


def touched(record: dict[str, Any]) -> Touched:
    """What one record of the journal may have changed. Pure."""
    match record.get("kind"):
        case "topics_changed":
            changed = frozenset[str]().union(*(record.get(field) or () for field in ("added", "changed", "removed")))
            return Touched(topics=changed)
        case "topic_deleted":
            return Touched(topics=frozenset({str(record.get("topic"))}))
        case "kv_changed":
            order = record.get("namespace") == _ORDER_NAMESPACE
            return Touched(topics=frozenset({str(record.get("key"))}) if order else frozenset())
        case _:
            return Touched(broker=record.get("broker"))


class Pushed:
    """The events of one Routebook, for as long as `run` runs; comes back after every loss, and says so by `lost_sight`.

    `told` gets what each event touched. `lost_sight` is called whenever the stream begins, for anything may have
    happened before. `connected` is whether the stream is open just now.
    """

    def __init__(
        self,
        url: str,
        *,
        told: Callable[[Touched], None],
        lost_sight: Callable[[], None],
        kinds: Iterable[str] = ROUTE_KINDS,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.connected = False
        self.problem: str | None = None  # why the stream is not open, for people
        self._url = f"{url.rstrip('/')}/v1/events"
        self._told = told
        self._lost_sight = lost_sight
        self._params = {"kind": list(kinds)}
        self._headers = headers or {}

    async def run(self) -> None:
        """Until cancelled."""
        wait_s = _FIRST_WAIT_S
        timeout = httpx.Timeout(_CONNECT_S, read=_SILENT_S)
        async with httpx.AsyncClient(timeout=timeout, trust_env=False, headers=self._headers) as web:
            while True:
                try:
                    async with web.stream("GET", self._url, params=self._params) as response:
                        response.raise_for_status()
                        wait_s = _FIRST_WAIT_S
                        await self._read(response)
                    self.problem = f"{self._url}: closed the connection"
                except (httpx.HTTPError, httpx.InvalidURL) as error:
                    self.problem = f"{self._url}: {str(error) or type(error).__name__}"
                finally:
                    self.connected = False
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, _LAST_WAIT_S)

    async def _read(self, response: httpx.Response) -> None:
        lines = EventLines()
        self.connected, self.problem = True, None
        self._lost_sight()
        rest = b""
        async for (
            chunk
        ) in response.aiter_bytes():  # not aiter_lines: a name may hold what Unicode takes for a line's end
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                sent = lines.line(line)
                if sent is None:
                    continue
                if sent.event == "message":
                    self._told(touched(msgspec.json.decode(sent.data)))
                else:  # missing, reset, dropped: something was not told
                    self._lost_sight()
