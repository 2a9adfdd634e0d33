"""False length fields and decompression bombs: the server replies or closes, and allocates only what it received."""

import contextlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.attacked_server import under_attack
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client, register
from tests.support.remoting_frames import Request, Silence, frame

PEAK_BYTES = 200 << 20  # the limit for an inflated body is 64 MiB; a second copy is permitted


def bombs() -> Iterator[bytes]:
    """Small compressed bodies that inflate to large ones."""
    stream = zlib.compressobj(9)
    zeros = bytes(1 << 20)
    yield b"".join(stream.compress(zeros) for _ in range(512)) + stream.flush()
    version = b'{"counter":1,"stateVersion":0,"timestamp":1}'
    head = struct.pack(">i", len(version)) + version
    for count in (0x7FFFFFFF, -1, 0x10000000, 50_000):
        yield zlib.compress(head + struct.pack(">i", count) + struct.pack(">i", 0x7FFFFFFF))
    yield zlib.compress(struct.pack(">i", 0x7FFFFFFF))
    yield zlib.compress(struct.pack(">i", -1))
    yield zlib.compress(b"[" * (8 << 20))
    yield zlib.compress(struct.pack(">i", 8 << 20) + b"[" * (8 << 20))


def frames_with_false_lengths() -> Iterator[bytes]:
    """Frames with wrong length fields. J#3474: length of a header; J#10832: length of a field."""
    for length in (-1, -(1 << 31), 0, 1, 2, 3, (1 << 31) - 1, 1 << 24, (1 << 24) - 3, (1 << 24) - 4):
        yield struct.pack(">i", length) + bytes(64)
    for kind in (0, 1, 2, 255):
        for length in (0, 1, 0x7FFFFF, 0xFFFFFF):
            yield struct.pack(">iI", 68, kind << 24 | length) + bytes(64)
    fixed = struct.pack(">hbhii", 105, 0, 513, 1, 0)
    for remark in (-1, 1, 100, 0x7FFFFFFF, -(1 << 31)):
        yield frame(fixed + struct.pack(">i", remark) + bytes(8), header_type=1)
    for entries in (-1, 1, 6, 100, 0x7FFFFFFF):
        for key in (-1, 0, 1, 0x7FFF):
            for value in (-1, 0, 0x7FFFFFFF):
                field = struct.pack(">h", key) + b"k" + struct.pack(">i", value) + b"v"
                yield frame(fixed + struct.pack(">ii", 0, entries) + field, header_type=1)
    yield frame(b'{"code":105,"extFields":' + b"[" * 100_000)
    yield frame(b'{"code":' + b"9" * 200_000 + b"}")
    yield frame(b'{"code":1e999999999,"opaque":1}')


def test_false_lengths_allocate_no_memory(tmp_path: Path, reliability_report: ReliabilityReport) -> None:
    with under_attack(tmp_path, reliability_report, "false lengths (J#3474, J#10832)") as server:
        before = server.peak_bytes()
        with contextlib.ExitStack() as connections:
            clients = []
            for data in frames_with_false_lengths():
                clients.append(connections.enter_context(Client(server.address)))
                with contextlib.suppress(ConnectionError):
                    clients[-1].send(data)
                    clients[-1].send(Request(code=9998, opaque=7).encode())
            with Client(server.address) as client:
                assert client.ask(Request(code=9998)).code == 3
            for client in clients:
                with contextlib.suppress(Silence):  # the server waits for the announced rest
                    client.receive(timeout_s=0.01)
        server.figures["frames"] = len(clients)
        assert server.peak_bytes() < before + (64 << 20)


@pytest.mark.slow
def test_decompression_bombs_are_refused(tmp_path: Path, reliability_report: ReliabilityReport) -> None:
    with under_attack(tmp_path, reliability_report, "zip bombs in registrations") as server:
        before, refused = server.peak_bytes(), 0
        for body in bombs():
            for number in range(3):
                with Client(server.address) as client:
                    honest = register(broker=f"b{number}")
                    ext = {**(honest.ext or {}), "compressed": "true"}
                    reply = client.ask(Request(code=103, ext=ext, body=body))
                    assert reply.code == 1, reply
                    refused += 1
        server.figures["refused"] = refused
        assert server.peak_bytes() < before + PEAK_BYTES
