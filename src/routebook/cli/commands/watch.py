"""`routebook watch`: prints events of a server as they happen, and resumes after a lost connection."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from routebook.cli.event_options import Filters, filter_options
from routebook.cli.framework import command, flag, option
from routebook.cli.http import http_option, open_http
from routebook.cli.output import EXIT_OK, print_error, printable
from routebook.client.http import DEFAULT_URL, MAX_SILENCE_S, EventStream, HttpClient, HttpStatusError
from routebook.errors import ConnectionFailed, JournalError
from routebook.journal.read.describe import describe_event
from routebook.journal.record import Record, decode_record
from routebook.sse import ServerSentEvent
from routebook.times import format_time

_MIN_RETRY_S: Final = 0.5
_MAX_RETRY_S: Final = 15.0


@command("watch")
@filter_options
@option("--after", type=int, metavar="SEQ", help="Start after the record with this number [new records].")
@http_option
@flag("--json", "as_json", help="Print one JSON object per line, as in the journal.")
def watch(*, filters: Filters, after: int | None, http: str | None, as_json: bool) -> int:
    """Print events as they happen, until interrupted.

    After a lost connection the stream resumes with the next record, so none is missed. The exit code is 3 if the
    first connection fails.
    """
    query = {"topic": [*filters.topics], "broker": [*filters.brokers], "kind": [*filters.kinds]}
    watcher = EventWatcher(open_http(http or DEFAULT_URL), query, after=after)
    try:
        for event in watcher.events():
            _show(watcher, event, as_json=as_json)
    except KeyboardInterrupt:
        pass
    return EXIT_OK


class EventWatcher:
    """Reads the event stream of a server, and resumes it over new connections."""

    def __init__(
        self,
        http: HttpClient,
        query: dict[str, list[str]],
        *,
        after: int | None = None,
        silence_s: float = MAX_SILENCE_S,
        sleep: Callable[[float], None] = time.sleep,
        log: Callable[[str], None] = print_error,
    ) -> None:
        self._http = http
        self._query = query
        self._last_id = "" if after is None else str(after)
        self._silence_s = silence_s
        self._sleep = sleep
        self._log = log
        self._boot: str | None = None
        self._retry_s = _MIN_RETRY_S

    def events(self) -> Iterator[ServerSentEvent]:
        """Yield records without end. Raises if the first connection fails."""
        yield from self._one_connection()
        while True:
            self._sleep(self._retry_s)
            self._retry_s = min(max(2 * self._retry_s, _MIN_RETRY_S), _MAX_RETRY_S)
            try:
                yield from self._one_connection(again=True)
            except (ConnectionFailed, HttpStatusError) as error:
                if self._retry_s >= _MAX_RETRY_S:
                    self._log(f"{error}; retrying")

    def check_restart(self, record: Record) -> None:
        """Log a restart of the server, which a record with another boot id shows."""
        if self._boot is not None and record.boot != self._boot:
            self._log("the server was restarted")
        self._boot = record.boot

    def _one_connection(self, *, again: bool = False) -> Iterator[ServerSentEvent]:
        with self._http.events(self._query, last_id=self._last_id, silence_s=self._silence_s) as stream:
            if again:
                self._log(f"reconnected{f' after record {self._last_id}' if self._last_id else ''}")
            self._retry_s = _MIN_RETRY_S
            try:
                for event in stream:
                    if event.name == "message":
                        yield event
                    elif not self._handle_notice(event, stream):
                        return
                self._log(f"{self._http.url} closed the connection; reconnecting")
            except ConnectionFailed as error:
                self._log(f"{error}; reconnecting")
            finally:
                self._last_id = stream.last_id

    def _handle_notice(self, event: ServerSentEvent, stream: EventStream) -> bool:
        """Log what is not a record; return False if the stream ends here."""
        try:
            notice: dict[str, Any] = msgspec.json.decode(event.data, type=dict[str, Any])
        except msgspec.DecodeError:
            notice = {}
        match event.name:
            case "missing":
                self._log(f"records {notice.get('first')} to {notice.get('last')} are missing: {notice.get('why')}")
            case "reset":
                stream.last_id = ""
                self._log(f"the server has no record {notice.get('last_event_id')}: {notice.get('hint')}")
            case "dropped":
                self._retry_s = 0.0
                position = notice.get("resume_after")
                self._log(f"the server dropped this reader: {notice.get('why')}; resuming after record {position}")
                return False
            case "stopping":
                self._log(f"{self._http.url} is stopping; waiting for it to return")
                return False
            case _:
                pass  # sent by a newer server
        return True


def _show(watcher: EventWatcher, event: ServerSentEvent, *, as_json: bool) -> None:
    try:
        record = decode_record(event.data)
    except JournalError as error:
        print_error(f"skipped an event: {error}")
        return
    watcher.check_restart(record)
    if as_json:
        print(event.data.decode("utf-8", "replace"))
    else:
        print(f"{format_time(record.at)} {record.seq:>8} {record.kind:<20} {printable(describe_event(record))}")
    sys.stdout.flush()
