"""Properties of frames: round trips, chunking, and arbitrary bytes."""

from contextlib import suppress
from itertools import count, pairwise

from hypothesis import given
from hypothesis import strategies as st

from routebook.codes import LANGUAGES
from routebook.errors import ProtocolError
from routebook.wire.codec import decode, encode
from routebook.wire.command import Command, SerializeType
from routebook.wire.peer import Peer

int32 = st.integers(-(2**31), 2**31 - 1)
int16 = st.integers(-(2**15), 2**15 - 1)
text = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
commands = st.builds(
    Command,
    code=int16,
    opaque=int32,
    flag=int32,
    version=int16,
    language=st.sampled_from(LANGUAGES),
    remark=st.none() | text,
    ext=st.none() | st.dictionaries(text, text, min_size=1, max_size=5),
    body=st.none() | st.binary(min_size=1, max_size=200),
)
kinds = st.sampled_from(SerializeType)


def take_all(peer: Peer) -> list[Command]:
    taken = []
    while (command := peer.next_command()) is not None:
        taken.append(command)
    return taken


@given(commands, kinds)
def test_round_trip(command: Command, kind: SerializeType) -> None:
    assert decode(encode(command, kind)[4:], count()) == command


@given(st.lists(st.tuples(commands, kinds), min_size=1, max_size=6), st.data())
def test_chunking_never_matters(sent: list[tuple[Command, SerializeType]], data: st.DataObject) -> None:
    stream = b"".join(encode(command, kind) for command, kind in sent)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(stream)), max_size=10)) | {0, len(stream)})
    peer = Peer()
    received = []
    for start, end in pairwise(cuts):
        peer.feed(stream[start:end])
        received += take_all(peer)
    assert received == [command for command, _ in sent]


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_arbitrary_bytes_parse_or_raise_a_protocol_error(chunks: list[bytes]) -> None:
    peer = Peer()
    with suppress(ProtocolError):
        for chunk in chunks:
            peer.feed(chunk)
            take_all(peer)


@given(kinds, st.integers(0, 80), st.binary(max_size=80))
def test_framed_bytes_parse_or_raise_a_protocol_error(kind: SerializeType, header_length: int, rest: bytes) -> None:
    frame = (kind << 24 | header_length).to_bytes(4, "big") + rest
    with suppress(ProtocolError):
        decode(frame, count())


@given(commands, kinds, st.data())
def test_damaged_frames_parse_or_raise_a_protocol_error(
    command: Command, kind: SerializeType, data: st.DataObject
) -> None:
    frame = bytearray(encode(command, kind)[4:])
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    with suppress(ProtocolError):
        decode(bytes(frame), count())
