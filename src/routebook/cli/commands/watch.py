"""`routebook watch`: what happens at a server, as it happens; it comes back with the server, and misses nothing."""

import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException
from typing import Annotated, Any, Final

import msgspec

from routebook.cli.http_client import DEFAULT_URL, Http, Refused, Web
from routebook.cli.output import EXIT_FINE, complain, printable
from routebook.cli.parameters import Option
from routebook.client.server_sent import EventLines, ServerSent
from routebook.errors import ConnectionFailed, JournalError, UsageError
from routebook.journal.read.describe import describe_event
from routebook.journal.record import KINDS, Record, decode_record
from routebook.times import format_time

_SILENT_S: Final = 45.0  # a living server says so every 15
_FIRST_WAIT_S: Final = 0.5
_LAST_WAIT_S: Final = 15.0


def watch(
    *,
    topic: Annotated[list[str] | None, Option(("--topic",), "About this topic; may be repeated.", "NAME")] = None,
    broker: Annotated[
        list[str] | None, Option(("--broker",), "About this broker, by name or address; may be repeated.", "NAME")
    ] = None,
    kind: Annotated[list[str] | None, Option(("--kind",), "Of this kind; may be repeated.", "KIND")] = None,
    after: Annotated[int | None, Option(("--after",), "Begin after the record of this number [now].", "SEQ")] = None,
    http: Http = None,
    as_json: Annotated[bool, Option(("--json",), "One JSON object a line, as in the journal.")] = False,
) -> int:
    """Show what happens, as it happens, until it is interrupted. Exit code 3 if the server cannot be reached at first.

    When the connection is lost it comes back with the number of the last record, and shows what it missed.
    """
    for one in kind or ():
        if one not in KINDS:
            raise UsageError(f"--kind {one}: there are {', '.join(sorted(KINDS))}")
    query = {"topic": topic or [], "broker": broker or [], "kind": kind or []}
    web = Web(http or DEFAULT_URL)
    watcher = Watcher(web, {name: values for name, values in query.items() if values}, after=after)
    try:
        for sent in watcher.events():
            _show(watcher, sent, as_json=as_json)
    except KeyboardInterrupt:
        pass
    return EXIT_FINE


class Watcher:
    """A stream of events that survives the connections it comes over."""

    def __init__(
        self,
        web: Web,
        query: dict[str, list[str]],
        *,
        after: int | None = None,
        silent_s: float = _SILENT_S,
        wait: Callable[[float], None] = time.sleep,
        say: Callable[[str], None] = complain,
    ) -> None:
        self._web = web
        self._query = query
        self._lines = EventLines()
        self._lines.last_id = "" if after is None else str(after)
        self._silent_s = silent_s
        self._wait = wait
        self._say = say
        self._boot: str | None = None
        self._wait_s = _FIRST_WAIT_S

    def events(self) -> Iterator[ServerSent]:
        """Records, without end. Raises where the very first connection fails."""
        yield from self._one_connection()
        while True:
            self._wait(self._wait_s)
            self._wait_s = min(max(2 * self._wait_s, _FIRST_WAIT_S), _LAST_WAIT_S)
            try:
                yield from self._one_connection(again=True)
            except (ConnectionFailed, Refused) as problem:
                if self._wait_s >= _LAST_WAIT_S:
                    self._say(f"{problem}; trying again")

    def saw(self, record: Record) -> None:
        """Tell of a restart, when a record shows it."""
        if self._boot is not None and record.boot != self._boot:
            self._say("the server was restarted")
        self._boot = record.boot

    def _one_connection(self, *, again: bool = False) -> Iterator[ServerSent]:
        headers = {"accept": "text/event-stream"}
        if self._lines.last_id:
            headers["last-event-id"] = self._lines.last_id
        with self._web.open("/v1/events", self._query, headers=headers, silent_s=self._silent_s) as response:
            if again:
                self._say(f"connected again{f', after record {self._lines.last_id}' if self._lines.last_id else ''}")
            self._wait_s = _FIRST_WAIT_S
            try:
                while raw := response.readline():
                    sent = self._lines.line(raw)
                    if sent is None:
                        continue
                    if sent.event == "message":
                        yield sent
                    elif not self._noticed(sent):
                        return
                self._say(f"{self._web.url} closed the connection; trying again")
            except TimeoutError:
                self._say(f"{self._web.url} has been silent for {self._silent_s:g} s; trying again")
            except (OSError, HTTPException) as problem:
                self._say(f"the connection was lost: {str(problem) or type(problem).__name__}; trying again")
            finally:
                self._lines.cut_off()

    def _noticed(self, sent: ServerSent) -> bool:
        """Tell what is not a record; False: the stream ends here."""
        try:
            told: dict[str, Any] = msgspec.json.decode(sent.data, type=dict[str, Any])
        except msgspec.DecodeError:
            told = {}
        match sent.event:
            case "missing":
                self._say(f"records {told.get('first')} to {told.get('last')} are missing: {told.get('why')}")
            case "reset":
                self._lines.last_id = ""
                self._say(f"the server does not know record {told.get('last_event_id')}: {told.get('hint')}")
            case "dropped":
                self._wait_s = 0.0
                self._say(f"the server dropped us: {told.get('why')}; going on after record {told.get('resume_after')}")
                return False
            case "stopping":
                self._say(f"{self._web.url} stops; waiting for it to come back")
                return False
            case _:
                pass  # a newer server's
        return True


def _show(watcher: Watcher, sent: ServerSent, *, as_json: bool) -> None:
    try:
        record = decode_record(sent.data.encode())
    except JournalError as problem:
        complain(f"not shown: {problem}")
        return
    watcher.saw(record)
    if as_json:
        print(sent.data)
    else:
        print(f"{format_time(record.at)} {record.seq:>8} {record.kind:<20} {printable(describe_event(record))}")
    sys.stdout.flush()
