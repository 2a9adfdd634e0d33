"""Everything that can go wrong, as one tree.

RoutebookError
├── ProtocolError        bytes that are not the protocol: the connection closes, nothing is answered
├── RequestError         a request that is answered with a code other than 0
│   ├── BadRequest       1   a field, name or body that cannot be used
│   ├── NotReady         1   too early: the readiness gate is shut
│   ├── Disabled         1   switched off by a setting
│   ├── Unsupported      3   a request code nobody handles
│   ├── Denied           16  not over the wire, or not by this peer
│   ├── TopicNotExist    17  no route
│   └── NotFound         22  no such key or namespace
└── StartError           the server does not start: what is wrong, where, what to do
    ├── SettingsError    a settings file, variable or option
    ├── HomeError        the home folder: unreadable, locked, foreign
    ├── KvFileError      kvConfig.json cannot be read
    ├── ListenError      the port cannot be had
    └── TlsError         a certificate, key or trust file
"""

from typing import ClassVar

from routebook.codes import ResponseCode


class RoutebookError(Exception):
    """Root of the tree."""


class ProtocolError(RoutebookError):
    """These bytes are not the RocketMQ remoting protocol."""


class RequestError(RoutebookError):
    """A request that is answered with `code` and a remark that says what is wrong.

    `with_header` is true where Java's answer carries an empty response header (`extFields: {}`).
    """

    code: ClassVar[ResponseCode] = ResponseCode.SYSTEM_ERROR

    def __init__(self, remark: str | None, *, with_header: bool = False) -> None:
        super().__init__(remark)
        self.remark = remark
        self.with_header = with_header


class BadRequest(RequestError):
    """A field, name or body that cannot be used."""


class NotReady(RequestError):
    """The readiness gate is shut."""


class Disabled(RequestError):
    """Switched off by a setting."""


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
