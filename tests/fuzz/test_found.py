"""Inputs that fuzzing found: each once blocked the server, stopped it, or prevented its start."""

import asyncio
from pathlib import Path

import pytest

from routebook.errors import JournalError, ProtocolError, SnapshotError
from routebook.history.index.follower import IndexFollower
from routebook.journal.read.reader import Line, read
from routebook.journal.record import decode_record
from routebook.journal.segments import RESERVE_NAME
from routebook.journal.write.sequence_reserve import read_reserve
from routebook.peers.fetch import PeerHttp
from routebook.properties import parse
from routebook.server.http.live.tab import Tab
from routebook.server.observe.health import Condition
from routebook.server.state.snapshots import Snapshot, _parse
from routebook.wire.json_header import decode_json_header
from tests.fuzz.targets import TARGETS
from tests.support.asynchronous import asynchronous
from tests.support.core_client import CoreClient
from tests.support.faulty_files import FaultyFiles
from tests.support.in_process_server import connected, running
from tests.support.remoting_frames import Request

NESTED = b"[" * 50_000 + b"]" * 50_000
LINE = b'{"v":1,"ns":"n","boot":"b","seq":%d,"at":1,"kind":"kv_changed","namespace":"n","key":"%b","after":"x"}'
DAMAGED = [
    b'{"v":1,"ns":"\xff","boot":"b","seq":1,"at":1,"kind":"kv_changed"}',
    b'{"v":1,"ns":"n","boot":"b","seq":1,"at":1,"kind":"of_a_newer_release","x":"\xff"}',
    b'{"v":1,"ns":"n","boot":"b","seq":1,"at":1,"kind":"of_a_newer_release","x":' + NESTED + b"}",
    b'{"v":1,"ns":"n","boot":"b","seq":1,"at":1,"kind":"kv_changed","x":' + NESTED + b"}",
    b'{"v":1,"ns":"\\ud800","boot":"b","seq":1,"at":1,"kind":"kv_changed","x":' + NESTED + b"}",
]


def test_settings_of_backslashes_only_are_parsed_in_linear_time() -> None:
    """A regular expression with quadratic backtracking blocked the server for minutes."""
    length = 256 << 10
    (entry,) = parse("\\" * (length - 2) + "a")
    assert entry.key == "\\" * (length // 2 - 1) + "a"
    assert CoreClient().ask(318, body=b"\\" * (length - 2) + b"a=1").code in {0, 1}


def test_a_very_long_header_must_be_standard_json() -> None:
    """A header of 2.3 MB blocked the server for four seconds, before authentication."""
    plain = b'{"code":100,"opaque":1,"extFields":{"value":"' + b"v" * (4 << 20) + b'"}}'
    assert decode_json_header(plain).code == 100
    assert decode_json_header(plain[: 1 << 13].replace(b'"', b"'") + b"'}}").code == 100
    with pytest.raises(ProtocolError, match="not plain JSON"):
        decode_json_header(plain.replace(b'"', b"'"))


@pytest.mark.parametrize("line", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_journal_line_raises_a_documented_error(line: bytes) -> None:
    with pytest.raises(JournalError):
        decode_record(line)
    with pytest.raises(SnapshotError):
        _parse(Snapshot, line)


def test_one_bad_byte_damages_one_line_of_a_journal_only() -> None:
    """An invalid UTF-8 byte made all later lines unreadable, and the server did not start."""
    lines = [LINE % (1, b"a"), LINE % (2, b"\xff"), LINE % (3, b"c")]
    files = FaultyFiles.holding(**{"00000000000000000001.jsonl": b"\n".join([*lines, b""])})
    kept = [item.record.seq for item in read(files) if isinstance(item, Line)]
    assert kept == [1, 3]


@pytest.mark.parametrize("text", [b'{"mark":"\xff"}', b'{"mark":' + NESTED], ids=["byte", "nested"])
def test_a_damaged_sequence_reserve_is_ignored(text: bytes) -> None:
    assert read_reserve(FaultyFiles.holding(**{RESERVE_NAME: text})) is None


@asynchronous
async def test_a_deeply_nested_console_message_is_rejected() -> None:
    async def receive() -> dict[str, object]:
        return {"type": "websocket.receive", "text": '{"kinds":' + NESTED.decode()}

    assert await Tab()._read(receive) is False


@asynchronous
async def test_a_deeply_nested_reply_of_a_peer_is_an_error() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = b'{"a":' + NESTED + b"}"
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        fetch = PeerHttp("127.0.0.1", server.sockets[0].getsockname()[1])
        assert await fetch.get("/v1/digests", dict[str, object]) is None
        assert "recursion" in (fetch.problem or "")
    finally:
        server.close()
        await server.wait_closed()


@asynchronous
async def test_a_server_without_its_history_thread_serves_routes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by chaos tests with little memory: the history index could not start, and the process exited."""

    def no_thread(_feeder: IndexFollower) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(IndexFollower, "start", no_thread)
    async with running(tmp_path) as server, connected(server) as talk:
        await server.start_history_and_peers()
        assert (await talk.ask(Request(code=105, ext={"topic": "absent"}))).code == 17
        part = server.health.report().parts["history"]
        assert part.condition is Condition.DEGRADED
        assert "can't start new thread" in part.says


def test_a_line_with_a_valid_envelope_and_an_invalid_event_is_set_aside() -> None:
    """It stayed in its segment, and every reader reported it again."""
    line = b'{"v":1,"ns":"n","boot":"b","seq":4,"at":1,"kind":"broker_returned","cluster":"C","brokr_id":0}\n'
    TARGETS["journals"][1]()(line)
