"""Everything that can go wrong, as one tree.

RoutebookError
├── ProtocolError        bytes that are not the protocol: the connection closes, nothing is answered
│   └── FrameTooLong     a frame beyond the limit
├── RequestError         a request that is answered with a code other than 0
│   ├── BadRequest       1   a field, name or body that cannot be used
│   │   └── TooMuch      1   more than a limit allows; says which
│   ├── NotReady         1   too early: the readiness gate is shut
│   ├── Disabled         1   switched off by a setting
│   ├── Busy             2   more requests than the server can take just now
│   ├── Unsupported      3   a request code nobody handles
│   ├── Denied           16  not over the wire, or not by this peer
│   ├── TopicNotExist    17  no route
│   ├── NotFound         22  no such key or namespace
│   └── GoingAway        1500 the server is shutting down
├── ConnectionFailed     a client had no answer; says from whom, and why
│   ├── Unreachable      nobody listens there, or the connection was closed
│   ├── TimedOut         nothing came in time
│   ├── NotANameServer   what came is something else: HTTP, TLS, garbage
│   └── Untrusted        its certificate, or ours, is not accepted
├── UsageError           what the caller gave cannot be used: addresses, credentials, TLS files
├── MalformedRoute       a route that no client can use (an order configuration that does not parse)
├── JournalError         a journal that cannot be read, or belongs to somebody else
│   ├── JournalForeign   a journal of another NameServer
│   ├── JournalVersion   a line of a format that this release does not read
│   └── JournalDegraded  a record that was to be on disk is not: full, failing, read-only
├── SnapshotError        a snapshot that cannot be used
├── HistoryError         the past cannot be told: no journal, or its index cannot be read just now
└── StartError           the server does not start: what is wrong, where, what to do
    ├── SettingsError    a settings file, variable or option
    ├── HomeError        the home folder: unreadable, locked, foreign
    ├── KvFileError      kvConfig.json cannot be read
    ├── ListenError      the port cannot be had
    ├── TlsError         a certificate, key or trust file
    └── AccessFileError  the file of identities
"""

from routebook.codes import ResponseCode


class RoutebookError(Exception):
    """Root of the tree."""


class ProtocolError(RoutebookError):
    """These bytes are not the RocketMQ remoting protocol."""


class FrameTooLong(ProtocolError):
    """A frame that announces more bytes than are allowed."""


class RequestError(RoutebookError):
    """A request that is answered with `code` and a remark that says what is wrong.

    `with_header` is true where Java's answer carries an empty response header (`extFields: {}`).
    A client sets `address` to the server that answered, and `code` where the answer has one that no class has.
    """

    code: int = ResponseCode.SYSTEM_ERROR
    address: str | None = None

    def __init__(self, remark: str | None, *, with_header: bool = False) -> None:
        super().__init__(remark)
        self.remark = remark
        self.with_header = with_header

    def __str__(self) -> str:
        return (self.remark or "").strip() or f"response code {int(self.code)}"


class BadRequest(RequestError):
    """A field, name or body that cannot be used."""


class TooMuch(BadRequest):
    """More than a limit allows; `limit` is the name that the limit has among the metrics."""

    def __init__(self, remark: str, *, limit: str) -> None:
        super().__init__(remark)
        self.limit = limit


class NotReady(RequestError):
    """The readiness gate is shut."""


class Disabled(RequestError):
    """Switched off by a setting."""


class Busy(RequestError):
    """More requests than the server can take just now."""

    code = ResponseCode.SYSTEM_BUSY


class Unsupported(RequestError):
    """A request code nobody handles."""

    code = ResponseCode.REQUEST_CODE_NOT_SUPPORTED


class Denied(RequestError):
    """Not over the wire, or not by this peer."""

    code = ResponseCode.NO_PERMISSION


class TopicNotExist(RequestError):
    """No broker serves this topic."""

    code = ResponseCode.TOPIC_NOT_EXIST


class NotFound(RequestError):
    """No such key or namespace."""

    code = ResponseCode.QUERY_NOT_FOUND


class GoingAway(RequestError):
    """The server is shutting down and wants to be left."""

    code = ResponseCode.GO_AWAY


class ConnectionFailed(RoutebookError):
    """No answer was had from `address`; `why` is a clause that says what happened there."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address, why)
        self.address = address
        self.why = why

    def __str__(self) -> str:
        return f"{self.address}: {self.why}"


class Unreachable(ConnectionFailed):
    """Nobody listens there, the name is unknown, or the connection was closed."""


class TimedOut(ConnectionFailed):
    """Nothing came in time."""


class NotANameServer(ConnectionFailed):
    """Something else listens there."""


class Untrusted(ConnectionFailed):
    """TLS was spoken, and one side does not accept the other's certificate."""


class UsageError(RoutebookError):
    """What the caller gave cannot be used; the message says why."""


class MalformedRoute(RoutebookError):
    """A route that no client can use."""


class JournalError(RoutebookError):
    """A journal, or a line of it, that cannot be used; the message says why."""


class JournalForeign(JournalError):
    """A journal of another NameServer."""


class JournalVersion(JournalError):
    """A line of a format version that this release does not read."""


class JournalDegraded(JournalError):
    """A record is not on disk because the disk does not take it; the message says why."""


class SnapshotError(RoutebookError):
    """A snapshot that cannot be used; the message says why."""


class HistoryError(RoutebookError):
    """The past cannot be told just now; the message says why."""


class StartError(RoutebookError):
    """The server does not start; the message says what is wrong, where, and what to do."""


class SettingsError(StartError):
    """A settings file, environment variable or option that cannot be used."""


class HomeError(StartError):
    """The home folder cannot be used."""


class KvFileError(StartError):
    """The KV file cannot be read."""


class ListenError(StartError):
    """A port cannot be listened on."""


class TlsError(StartError):
    """A certificate, key or trust file cannot be used."""


class AccessFileError(StartError):
    """The file of identities cannot be used."""
