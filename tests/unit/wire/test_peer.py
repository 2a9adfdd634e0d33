"""Frames are split correctly for any chunks, and invalid lengths are protocol errors."""

import pytest

from routebook.errors import ProtocolError
from routebook.wire.codec import encode
from routebook.wire.command import Command
from routebook.wire.peer import MAX_FRAME_BYTES, Peer

COMMANDS = [
    Command(code=105, opaque=1, ext={"topic": "a"}),
    Command(code=103, opaque=2, body=b"x" * 1000),
    Command(code=106, opaque=3, flag=2),
]
STREAM = b"".join(encode(command) for command in COMMANDS)


def drain(peer: Peer) -> list[Command]:
    commands = []
    while (command := peer.next_command()) is not None:
        commands.append(command)
    return commands


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 1001, len(STREAM)])
def test_any_chunking_gives_the_same_commands(size: int) -> None:
    peer = Peer()
    commands = []
    for at in range(0, len(STREAM), size):
        peer.feed(STREAM[at : at + size])
        commands += drain(peer)
    assert commands == COMMANDS
    assert peer.buffered == 0


def test_commands_before_a_bad_frame_are_not_lost() -> None:
    peer = Peer()
    peer.feed(encode(COMMANDS[0]) + b"\xff\xff\xff\xff")
    assert peer.next_command() == COMMANDS[0]
    with pytest.raises(ProtocolError):
        peer.next_command()


def test_incomplete_bytes_are_counted() -> None:
    peer = Peer()
    peer.feed(STREAM[:50])
    assert peer.next_command() is None
    assert peer.buffered == 50


@pytest.mark.parametrize("length", [0, 3, -1, -(2**31), MAX_FRAME_BYTES - 3, 2**31 - 1])
def test_invalid_lengths_are_protocol_errors(length: int) -> None:
    peer = Peer()
    peer.feed(length.to_bytes(4, "big", signed=True))
    with pytest.raises(ProtocolError):
        peer.next_command()


def test_a_frame_of_the_maximum_length_is_accepted() -> None:
    peer = Peer()
    peer.feed((MAX_FRAME_BYTES - 4).to_bytes(4, "big"))
    assert peer.next_command() is None
