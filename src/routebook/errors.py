"""All exceptions, as one tree.

RoutebookError
├── ProtocolError        bytes that violate the protocol: the connection is closed without an answer
│   └── FrameTooLong     a frame larger than the limit
├── RequestError         a request that is answered with a code other than 0
│   ├── BadRequest       1   an invalid field, name or body
│   │   └── TooMuch      1   a limit is exceeded; names the limit
│   ├── NotReady         1   the server does not answer look-ups yet
│   ├── Disabled         1   disabled by a setting
│   ├── Busy             2   the server is overloaded
│   ├── Unsupported      3   an unknown request code
│   ├── Denied           16  not allowed over the wire, or not for this peer
│   ├── TopicNotExist    17  no route
│   ├── NotFound         22  no such key or namespace
│   └── GoingAway        1500 the server is shutting down
├── ConnectionFailed     a client got no answer; names the address and the reason
│   ├── Unreachable      no listener, or the connection was closed
│   ├── TimedOut         no answer within the timeout
│   ├── NotANameServer   the answer is of another protocol
│   └── Untrusted        one side rejects the other's certificate
├── UsageError           invalid arguments: addresses, credentials, TLS files
├── MalformedRoute       a route that clients cannot use (invalid order configuration)
├── JournalError         a journal that cannot be used
│   ├── JournalForeign   a journal of another NameServer
│   ├── JournalVersion   a line in a format that this release does not support
│   └── JournalDegraded  a record could not be written: disk full, failing or read-only
├── ArchiveError         an archive that cannot be read or written
├── SnapshotError        a snapshot that cannot be used
├── HistoryError         history is not available: no journal, or its index cannot be read
└── StartError           the server cannot start; the message names the cause and a remedy
    ├── SettingsError    a settings file, variable or option
    ├── HomeError        the home folder is unreadable, locked or not ours
    ├── KvFileError      kvConfig.json cannot be read
    ├── ListenError      the port cannot be opened
    ├── TlsError         a certificate, key or trust file
    └── AccessFileError  the identities file
"""

from routebook.codes import ResponseCode


class RoutebookError(Exception):
    """Root of the tree."""


class ProtocolError(RoutebookError):
    """The bytes violate the RocketMQ remoting protocol."""


class FrameTooLong(ProtocolError):
    """A frame that is larger than the limit."""


class RequestError(RoutebookError):
    """A request that is answered with `code` and a remark that describes the problem.

    `with_header` is true if Java's answer has an empty response header (`extFields: {}`).
    A client sets `address` to the server that answered, and `code` if the answer has a code without a class.
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
    """An invalid field, name or body."""


class TooMuch(BadRequest):
    """A limit is exceeded; `limit` is its name in the metrics."""

    def __init__(self, remark: str, *, limit: str) -> None:
        super().__init__(remark)
        self.limit = limit


class NotReady(RequestError):
    """The server does not answer look-ups yet (needWaitForService)."""


class Disabled(RequestError):
    """Disabled by a setting."""


class Busy(RequestError):
    """The server is overloaded."""

    code = ResponseCode.SYSTEM_BUSY


class Unsupported(RequestError):
    """An unknown request code."""

    code = ResponseCode.REQUEST_CODE_NOT_SUPPORTED


class Denied(RequestError):
    """Not allowed over the wire, or not for this peer."""

    code = ResponseCode.NO_PERMISSION


class TopicNotExist(RequestError):
    """No broker serves this topic."""

    code = ResponseCode.TOPIC_NOT_EXIST


class NotFound(RequestError):
    """No such key or namespace."""

    code = ResponseCode.QUERY_NOT_FOUND


class GoingAway(RequestError):
    """The server is shutting down; clients should use another one."""

    code = ResponseCode.GO_AWAY


class ConnectionFailed(RoutebookError):
    """No answer from `address`; `why` is a clause that describes the reason."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(address, why)
        self.address = address
        self.why = why

    def __str__(self) -> str:
        return f"{self.address}: {self.why}"


class Unreachable(ConnectionFailed):
    """No listener, an unknown host name, or a closed connection."""


class TimedOut(ConnectionFailed):
    """No answer within the timeout."""


class NotANameServer(ConnectionFailed):
    """The server uses another protocol."""


class Untrusted(ConnectionFailed):
    """One side rejects the other's TLS certificate."""


class UsageError(RoutebookError):
    """Invalid arguments; the message describes the problem."""


class MalformedRoute(RoutebookError):
    """A route that clients cannot use."""


class JournalError(RoutebookError):
    """A journal, or a line of it, cannot be used; the message describes the problem."""


class JournalForeign(JournalError):
    """A journal of another NameServer."""


class JournalVersion(JournalError):
    """A line in a format version that this release does not support."""


class JournalDegraded(JournalError):
    """A record could not be written to disk; the message describes the problem."""


class SnapshotError(RoutebookError):
    """A snapshot cannot be used; the message describes the problem."""


class ArchiveError(RoutebookError):
    """The archive cannot be read or written; the message names the object and the reason."""


class HistoryError(RoutebookError):
    """History is not available; the message describes the problem."""


class StartError(RoutebookError):
    """The server cannot start; the message names the cause, the place and a remedy."""


class SettingsError(StartError):
    """An invalid settings file, environment variable or option."""


class HomeError(StartError):
    """The home folder cannot be used."""


class KvFileError(StartError):
    """The KV file cannot be read."""


class ListenError(StartError):
    """A port cannot be opened."""


class TlsError(StartError):
    """A certificate, key or trust file cannot be used."""


class AccessFileError(StartError):
    """The identities file cannot be used."""
