"""Corpora in files, and random mutations of them. The same seed gives the same inputs."""

import random
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

CORPUS: Final = Path(__file__).parent / "corpus"
MAX_BYTES: Final = 16 * 1024
_NUMBERS: Final = (0, 1, 4, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x1000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_TOKENS: Final = (
    *(b"{", b"}", b"[", b"]", b'"', b"'", b":", b",", b"\\", b"\\u", b"\\ud800", b"null", b"true", b"-0", b"1e999"),
    *(
        b"9" * 40,
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xf0\x9f\x98\x80",
        b"\r\n",
        b"\n",
        b" ",
        b"=",
        b"#",
        b"/*",
        b"//",
    ),
    *(b"../../x", b"%2e%2e/", b"HTTP/1.1", b"Content-Length: 99999999999\r\n", b"Transfer-Encoding: chunked\r\n"),
    *(b"\x78\x9c", b"{" * 300, b"[" * 300, b'{"a":' * 300, b"\\" * 500),
)


def seeds(name: str) -> list[bytes]:
    """The inputs of corpus/NAME.hex: one per line, in hexadecimal."""
    lines = (CORPUS / f"{name}.hex").read_text().splitlines()
    return [bytes.fromhex(line) for line in lines if line and not line.startswith("#")]


def mutations(corpus: Sequence[bytes], chance: random.Random) -> Iterator[bytes]:
    """The corpus itself, then an endless sequence of mutations."""
    yield from corpus
    while True:
        data = bytearray(chance.choice(corpus))
        for _ in range(chance.choice((1, 1, 2, 3, 6))):
            _change(data, chance, corpus)
        yield bytes(data[:MAX_BYTES])


def framed(data: bytes) -> bytes:
    """The same bytes with a correct length word, so that the parser reads the rest."""
    return struct.pack(">i", len(data) - 4) + data[4:] if len(data) >= 8 else data


def _change(data: bytearray, chance: random.Random, corpus: Sequence[bytes]) -> None:
    at = chance.randint(0, len(data))
    span = chance.choice((1, 2, 4, 8, chance.randint(0, 1 + len(data))))
    match chance.randrange(9):
        case 0 if data:
            data[at - 1] ^= 1 << chance.randrange(8)
        case 1 if data:
            data[at - 1] = chance.randrange(256)
        case 2:
            del data[at : at + span]
        case 3:
            data[at:at] = data[at : at + span]
        case 4:
            data[at:at] = chance.choice(_TOKENS)
        case 5:
            data[at : at + 4] = chance.choice(_NUMBERS).to_bytes(4, "big")
        case 6:
            other = chance.choice(corpus)
            cut = chance.randint(0, len(other))
            data[at:] = other[cut:]
        case 7:
            del data[at:]
        case _:
            data[at:at] = chance.randbytes(chance.choice((1, 2, 16)))
