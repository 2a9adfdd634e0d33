"""Lengths that lie, and bodies that grow: answered or closed, and no memory for what was only announced."""

import contextlib
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.victim import under_attack
from tests.support.ledger import Ledger
from tests.support.remoting import Client, register
from tests.support.remoting_frames import Request, Silence, frame

PEAK_BYTES = 200 << 20  # the limit for an inflated body is 64 MiB; twice that is a copy of it


def bombs() -> Iterator[bytes]:
    """Deflated bodies that are small here and large there."""
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


def lies() -> Iterator[bytes]:
    """Frames whose lengths are not those of what follows. J#3474: a header's length; J#10832: a field's."""
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


def test_lengths_that_lie(tmp_path: Path, ledger: Ledger) -> None:
    with under_attack(tmp_path, ledger, "lengths that lie (J#3474, J#10832)") as victim:
        before, sent = victim.peak_bytes(), 0
        for data in lies():
            with Client(victim.address) as client:
                client.send(data)
                client.send(Request(code=9998, opaque=7).encode())
                with contextlib.suppress(Silence):  # it waits for the rest of what was announced
                    client.receive(timeout_s=0.2)
            sent += 1
        with Client(victim.address) as client:
            assert client.ask(Request(code=9998)).code == 3
        victim.figures["frames"] = sent
        assert victim.peak_bytes() < before + (64 << 20)


@pytest.mark.slow
def test_bodies_that_grow(tmp_path: Path, ledger: Ledger) -> None:
    with under_attack(tmp_path, ledger, "zip bombs in registrations") as victim:
        before, refused = victim.peak_bytes(), 0
        for body in bombs():
            for number in range(3):
                with Client(victim.address) as client:
                    honest = register(broker=f"b{number}")
                    ext = {**(honest.ext or {}), "compressed": "true"}
                    reply = client.ask(Request(code=103, ext=ext, body=body))
                    assert reply.code == 1, reply
                    refused += 1
        victim.figures["refused"] = refused
        assert victim.peak_bytes() < before + PEAK_BYTES
