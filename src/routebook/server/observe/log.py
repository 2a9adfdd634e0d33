"""Log lines on stderr: one event per line, as text or JSON, on top of the standard `logging`.

    2026-01-02T03:04:05.678Z INFO  broker up  cluster=c1 broker=b-a id=0 addr=10.0.0.1:10911
    {"at":"2026-01-02T03:04:05.678Z","level":"info","event":"broker up","cluster":"c1", … }

Names come from the network, so control characters are escaped and long values are cut.
"""

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from typing import Final, TextIO, TypeAlias

Field: TypeAlias = object  # str, number, bool, None, or a sequence of these; anything else is logged as its str()

_MAX_CHARS: Final = 1024
_MAX_TRACE_CHARS: Final = 16384
_MAX_ITEMS: Final = 20
_LEVELS: Final = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
_COLOURS: Final = {"DEBUG": "\x1b[2m", "WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[31m"}
_NAMES: Final = {"WARNING": "WARN", "CRITICAL": "ERROR"}
_PLAIN_VALUE: Final = re.compile(r"[!#-<>-\[\]-~]+")  # printable ASCII without space, quote, equals sign and backslash
_RESERVED: Final = frozenset({"at", "level", "event"})


class Log:
    """The log of one component: an event in a few fixed words, and its fields."""

    __slots__ = ("_logger",)

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def debug(self, event: str, /, **fields: Field) -> None:
        self._put(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: Field) -> None:
        self._put(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: Field) -> None:
        self._put(logging.WARNING, event, fields)

    def error(self, event: str, /, **fields: Field) -> None:
        self._put(logging.ERROR, event, fields)

    def unexpected(self, event: str, error: BaseException, /, **fields: Field) -> None:
        """Log an unexpected exception with its traceback, on one line."""
        if self._logger.isEnabledFor(logging.ERROR):
            fields["trace"] = "".join(traceback.format_exception(error))[-_MAX_TRACE_CHARS:]
            self._put(logging.ERROR, event, fields)

    def enabled(self, level: str) -> bool:
        """Whether this level is logged; ask before collecting expensive fields."""
        return self._logger.isEnabledFor(_LEVELS[level])

    def _put(self, level: int, event: str, fields: dict[str, Field]) -> None:
        logger = self._logger
        if logger.isEnabledFor(level):
            record = logger.makeRecord(logger.name, level, "", 0, event, (), None, extra={"fields": fields})
            logger.handle(record)


def get_log(part: str = "") -> Log:
    """The log of the server, or of one component."""
    return Log(logging.getLogger(f"routebook.{part}" if part else "routebook"))


def configure(*, form: str, level: str, stream: TextIO, colour: bool = False) -> None:
    """Write all lines to `stream` as `form` (text or json). Other libraries log from `warning` up."""
    handler = _LineHandler(stream)
    handler.setFormatter(_JsonLines() if form == "json" else _TextLines(colour=colour))
    root = logging.getLogger()
    for old in root.handlers[:]:
        if isinstance(old, _LineHandler):
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("routebook").setLevel(_LEVELS[level])


def escape(text: str, *, max_chars: int = _MAX_CHARS) -> str:
    """Printable text: control characters, line ends, terminal escapes and writing-direction marks by their number."""
    if len(text) > max_chars:
        text = f"{text[:max_chars]}…(+{len(text) - max_chars})"
    return text if text.isprintable() else "".join(map(_escaped, text))


class _LineHandler(logging.StreamHandler[TextIO]):
    """A log that cannot be written must not stop the server, nor fill stderr with complaints."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - the name is logging's
        return


class _TextLines(logging.Formatter):
    def __init__(self, *, colour: bool) -> None:
        super().__init__()
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        event, fields = _parts(record)
        line = f"{_at(record)} {_NAMES.get(record.levelname, record.levelname):<5} {escape(event)}"
        if fields:
            line += "  " + " ".join(f"{name}={_text(value, _limit(name))}" for name, value in fields.items())
        colour = _COLOURS.get(record.levelname) if self._colour else None
        return f"{colour}{line}\x1b[0m" if colour else line


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        event, fields = _parts(record)
        content: dict[str, object] = {"at": _at(record), "level": record.levelname.lower(), "event": event}
        for name, value in fields.items():
            content[f"{name}_" if name in _RESERVED else name] = _value(value, _limit(name))
        # ASCII output contains no terminal control character except DEL
        return json.dumps(content, separators=(",", ":")).replace("\x7f", "\\u007f")


def _parts(record: logging.LogRecord) -> tuple[str, dict[str, Field]]:
    """The event and its fields; records of other libraries have a message and possibly an exception."""
    fields = getattr(record, "fields", None)
    if isinstance(fields, dict):
        return record.getMessage(), fields
    fields = {"logger": record.name}
    if record.exc_info and record.exc_info[0] is not None:
        fields["trace"] = "".join(traceback.format_exception(*record.exc_info))[-_MAX_TRACE_CHARS:]
    return record.getMessage(), fields


def _at(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z"


def _limit(name: str) -> int:
    return _MAX_TRACE_CHARS if name == "trace" else _MAX_CHARS


def _text(value: Field, max_chars: int) -> str:
    value = _value(value, max_chars)
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(_text(item, max_chars) for item in value)
    text = str(value)
    if _PLAIN_VALUE.fullmatch(text):
        return text
    return '"' + "".join(map(_escaped, text)).replace('"', '\\"') + '"'


def _value(value: Field, max_chars: int) -> object:
    """A JSON value of bounded size."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [_value(item, max_chars) for item in list(value)[:_MAX_ITEMS]]
        return [*items, f"…(+{len(value) - _MAX_ITEMS})"] if len(value) > _MAX_ITEMS else items
    text = str(value)
    return text if len(text) <= max_chars else f"{text[:max_chars]}…(+{len(text) - max_chars})"


def _escaped(char: str) -> str:
    if char == "\\":
        return "\\\\"
    if char.isprintable():
        return char
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char)
    if short is not None:
        return short
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
