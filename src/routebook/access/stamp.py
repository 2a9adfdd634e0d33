"""Stamps: the part of a signed request that makes it valid once, at one time and for one request code.

    RoutebookStamp: 1.<time in ms>.<nonce>.<base64 of HMAC-SHA256 over code, time, nonce, all fields and the body>

Routebook's own programs send it next to RocketMQ's signature, which covers it like any other field, so that a Java
server accepts the request too. Names are part of what is signed, and each part has its length before it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from routebook.access.signature import SIGNATURE, sign

STAMP: Final = "RoutebookStamp"
MAX_AGE_MS: Final = 60_000  # and how far a sender's clock may be ahead
_MAX_NONCES: Final = 500_000  # of one minute; only authenticated senders add to them
_FORM: Final = "1"


class Stamp(NamedTuple):
    """The parts of a stamp."""

    time_ms: int
    nonce: str
    mac: str


def make_stamp(
    ext: Mapping[str, str | None], body: bytes | None, *, code: int, secret: str, now_ms: int, nonce: str
) -> str:
    """The value of the field for a request with these fields, except the signature."""
    mac = sign(stamped_content(ext, body, code=code, time_ms=now_ms, nonce=nonce), secret, digest="sha256")
    return f"{_FORM}.{now_ms}.{nonce}.{mac}"


def read_stamp(text: str) -> Stamp | None:
    """The parts; None if the text is not a stamp."""
    form, _, rest = text.partition(".")
    time_text, _, rest = rest.partition(".")
    nonce, _, mac = rest.partition(".")
    is_valid = form == _FORM and time_text.isascii() and time_text.isdigit() and len(time_text) <= 15
    return Stamp(int(time_text), nonce, mac) if is_valid and 0 < len(nonce) <= 64 else None


def stamped_content(ext: Mapping[str, str | None], body: bytes | None, *, code: int, time_ms: int, nonce: str) -> bytes:
    """What a stamp covers."""
    parts = [str(code), str(time_ms), nonce]
    for name in sorted(ext.keys() - {STAMP, SIGNATURE}):
        parts += (name, ext[name] or "")
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return b"".join(b"%d:%b" % (len(part), part) for part in (*encoded, body or b""))


class SeenStamps:
    """The nonces of the last minutes: a request is accepted once. Requests from before the start are not accepted."""

    __slots__ = ("_before", "_current", "_since_ms", "_started_ms")

    def __init__(self, started_ms: int) -> None:
        self._started_ms = self._since_ms = started_ms
        self._current: set[tuple[str, str]] = set()
        self._before: set[tuple[str, str]] = set()

    def problem(self, access_key: str, stamp: Stamp, now_ms: int) -> str | None:
        """Accept a verified stamp, or say why not."""
        if abs(stamp.time_ms - now_ms) > MAX_AGE_MS:
            return f"the request was signed {(now_ms - stamp.time_ms) // 1000} s ago; check the clocks of both machines"
        if stamp.time_ms < self._started_ms:
            return "the request was signed before this server started; send it again"
        if now_ms - self._since_ms > 2 * MAX_AGE_MS:
            self._before, self._current, self._since_ms = self._current, set(), now_ms
        key = (access_key, stamp.nonce)
        if key in self._current or key in self._before:
            return "the request was received before: it may be a replay"
        if len(self._current) >= _MAX_NONCES:
            return "too many signed requests in two minutes"
        self._current.add(key)
        return None
