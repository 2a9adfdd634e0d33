"""Fuzz targets: each accepts arbitrary bytes and raises only if a guarantee is violated.

Documented errors are expected. Decoded values must survive a round trip, and the chunking of the input must not matter.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Final

from routebook.client.registration import encode_registration_body
from routebook.errors import BadRequest, JournalError, ProtocolError
from routebook.handlers import Caller, NameServer, dispatch
from routebook.journal.read.reader import Line, read
from routebook.journal.read.verify import verify
from routebook.journal.record import decode_record, encode_record
from routebook.journal.write.open import open_journal
from routebook.journal.write.options import JournalOptions
from routebook.kv import KvStore
from routebook.properties import MalformedEscape, decode_file, decode_wire, edit, encode_file, parse
from routebook.settings import Settings, from_values
from routebook.wire.codec import decode, encode, encode_reply
from routebook.wire.command import Command, SerializeType
from routebook.wire.json_header import decode_json_header
from routebook.wire.peer import Peer
from routebook.wire.register_body import decode_register_body
from routebook.wire.request_bodies import decode_data_version, decode_kv_table, decode_topic_route
from tests.fuzz.mutation import framed
from tests.support.faulty_files import FaultyFiles

NOW_MS: Final = 1_700_000_000_000
_MAX_REQUESTS: Final = 2_000  # per core; a new core has small tables again
_SEGMENT: Final = "00000000000000000001.jsonl"
_LINE: Final = b'{"v":1,"ns":"n","boot":"b","seq":%d,"at":1,"kind":"server_stopped","reason":"SIGTERM"}\n'


def frames(data: bytes) -> None:
    """One chunk or many: the same commands and the same error."""
    assert _commands(data, len(data) or 1) == _commands(data, 1 + len(data) // 7)
    with suppress(ProtocolError):
        _check_round_trip(decode(framed(data)[4:], count()) if len(data) >= 8 else Command(code=0, opaque=0))


def json_headers(data: bytes) -> None:
    with suppress(ProtocolError):
        header = decode_json_header(data)
        _check_round_trip(Command(header.code, header.opaque or 0, header.flag, header.version, ext=header.ext))


def binary_headers(data: bytes) -> None:
    with suppress(ProtocolError):
        command = decode((1 << 24 | len(data)).to_bytes(4, "big") + data, count())
        first = encode(command, SerializeType.ROCKETMQ)
        assert encode(decode(first[4:], count()), SerializeType.ROCKETMQ) == first


def register_bodies(data: bytes) -> None:
    for version, compressed in ((513, False), (513, True), (0, False)):
        with suppress(BadRequest):
            body = decode_register_body(
                data, version=version, compressed=compressed, max_topics=1000, max_inflated=1 << 20, now_ms=NOW_MS
            )
            if body.filter_servers is None or not _has_utf8(repr(body)):
                continue
            again = encode_registration_body(body)
            last = {topic.topic_name: topic for topic in body.topics or ()}  # one name can occur under two keys
            read = decode_register_body(again, version=513, compressed=False, now_ms=NOW_MS)
            assert list(read.topics or ()) == list(last.values())
    for other in (lambda: decode_topic_route(data), lambda: decode_data_version(data, now_ms=NOW_MS)):
        with suppress(BadRequest):
            other()


class Requests:
    """Frames, dispatched to a core that has processed the earlier ones."""

    def __init__(self) -> None:
        self._begin()

    def __call__(self, data: bytes) -> None:
        for command in _commands(framed(data), len(data) or 1)[0]:
            outcome = dispatch(self._core, command, Caller(1, "127.0.0.1:1"), NOW_MS + self._served)
            if outcome.reply is not None:
                encode_reply(command.opaque, outcome.reply)
            self._served += 1
        known = Command(code=105, opaque=1, ext={"topic": "absent"})
        answer = dispatch(self._core, known, Caller(2, "127.0.0.1:2"), NOW_MS).reply
        assert answer is not None
        assert answer.code == 17
        if self._served > _MAX_REQUESTS:
            self._begin()

    def _begin(self) -> None:
        self._core = NameServer(Settings.build([from_values({})]), started_ms=NOW_MS)
        self._served = 0


def properties(data: bytes) -> None:
    """Also: editing a file sets the given keys and leaves the others as they were."""
    text = decode_file(data)
    edited = encode_file(edit(text, {"a": " b\\", "new key": "é\n"}))
    with suppress(MalformedEscape):
        # a single backslash at the end is an empty key, which disappears when a line follows
        before = {entry.key: entry.value for entry in parse(text) if entry.key}
        after = {entry.key: entry.value for entry in parse(decode_file(edited)) if entry.key}
        assert after == {**before, "a": " b\\", "new key": "é\n"}
    with suppress(MalformedEscape):
        parse(decode_wire(data))


def kv_files(data: bytes) -> None:
    with suppress(BadRequest):
        written = KvStore(decode_kv_table(data)).encode()
        assert KvStore(decode_kv_table(written)).encode() == written


def journal_lines(data: bytes) -> None:
    """A line alone, and between two valid lines, which must stay readable."""
    line = data.replace(b"\n", b" ")
    with suppress(JournalError):
        written = encode_record(decode_record(line))
        assert encode_record(decode_record(written[:-1])) == written
    files = FaultyFiles.holding(**{_SEGMENT: _LINE % 1 + line + b"\n" + _LINE % (1 << 60)})
    kept = {item.record.seq for item in read(files) if isinstance(item, Line)}
    assert 1 in kept
    verify(files)


def journals(data: bytes) -> None:
    """A segment of arbitrary bytes is opened or rejected with an error; what is appended to it is readable."""
    files = FaultyFiles.holding(**{_SEGMENT: _LINE % 1 + data})
    with suppress(JournalError):
        opened = open_journal(files, ns="n", boot="b2", options=JournalOptions(), now_ms=lambda: NOW_MS)
        assert not verify(files).damage
        assert opened.writer.status().last_seq >= 1


TARGETS: Final[dict[str, tuple[str, Callable[[], Callable[[bytes], None]]]]] = {
    "frames": ("frames", lambda: frames),
    "json_headers": ("json_headers", lambda: json_headers),
    "binary_headers": ("binary_headers", lambda: binary_headers),
    "register_bodies": ("register_bodies", lambda: register_bodies),
    "requests": ("frames", Requests),
    "properties": ("properties", lambda: properties),
    "kv_files": ("kv_files", lambda: kv_files),
    "journal_lines": ("journal_lines", lambda: journal_lines),
    "journals": ("journal_lines", lambda: journals),
}
"""By name: the corpus, and the function that creates the target."""


def _commands(data: bytes, piece: int) -> tuple[list[Command], str]:
    peer, found = Peer(count()), list[Command]()
    try:
        for at in range(0, len(data), piece):
            peer.feed(data[at : at + piece])
            while (command := peer.next_command()) is not None:
                found.append(command)
    except ProtocolError as why:
        return found, str(why)
    return found, ""


def _check_round_trip(command: Command) -> None:
    """Decoding and encoding are inverse."""
    written = encode(decode(encode(command)[4:], count()))  # an unknown language is omitted, as in Java
    assert encode(decode(written[4:], count())) == written


def _has_utf8(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text) and "\\ud" not in text
