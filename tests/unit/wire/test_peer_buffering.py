"""Frames that arrive in parts: buffered bytes and the maximum length."""

import pytest

from routebook.errors import FrameTooLong, ProtocolError
from routebook.wire.codec import encode
from routebook.wire.command import Command
from routebook.wire.peer import Peer

FRAME = encode(Command(code=105, opaque=1, ext={"topic": "T"}, body=b"x" * 100))


class Held:
    """The sum of what a peer holds."""

    def __init__(self) -> None:
        self.bytes = 0

    def hold(self, more: int) -> None:
        self.bytes += more


def commands(peer: Peer) -> int:
    count = 0
    while peer.next_command() is not None:
        count += 1
    return count


def test_complete_frames_are_not_buffered() -> None:
    held = Held()
    peer = Peer(on_buffered=held.hold)
    for _ in range(3):
        peer.feed(FRAME * 5)
        assert commands(peer) == 5
        assert (held.bytes, peer.held, peer.frames_in_parts) == (0, 0, 0)


@pytest.mark.parametrize("size", [1, 3, 4, 7, 100])
def test_parts_are_buffered_until_the_frame_is_complete(size: int) -> None:
    held = Held()
    peer = Peer(on_buffered=held.hold)
    for start in range(0, len(FRAME), size):
        assert held.bytes == peer.held == start
        peer.feed(FRAME[start : start + size])
        found = commands(peer)
    assert (found, held.bytes, peer.held, peer.frames_in_parts) == (1, 0, 0, 1)


def test_frames_in_several_parts_are_counted() -> None:
    peer = Peer()
    for number in range(3):
        peer.feed(FRAME + FRAME[:50])
        commands(peer)
        assert (peer.held, peer.frames_in_parts) == (50, number)
        peer.feed(FRAME[50:])
        commands(peer)
    assert (peer.held, peer.frames_in_parts) == (0, 3)


def test_released_bytes_are_reported() -> None:
    held = Held()
    peer = Peer(on_buffered=held.hold)
    peer.feed(FRAME[:30])
    commands(peer)
    peer.release()
    peer.release()
    assert held.bytes == 0


def test_a_frame_that_is_too_long() -> None:
    peer = Peer(max_frame_bytes=len(FRAME))
    peer.feed(FRAME)
    assert commands(peer) == 1
    peer.feed((len(FRAME) - 3).to_bytes(4, "big"))
    with pytest.raises(FrameTooLong, match=f"frame of {len(FRAME) - 3} bytes"):
        peer.next_command()
    for length in (-1, 0, 3):
        peer = Peer()
        peer.feed(length.to_bytes(4, "big", signed=True))
        with pytest.raises(ProtocolError) as error:
            peer.next_command()
        assert not isinstance(error.value, FrameTooLong)
