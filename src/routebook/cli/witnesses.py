"""Heads of a journal that other NameServers have seen, from their files or their HTTP ports."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from routebook.cli.http import open_http
from routebook.errors import UsageError
from routebook.journal.chain import ChainHead
from routebook.peers.witness import FILE_NAME, SeenHead, Witness, decode_witness


class _Peer(msgspec.Struct, frozen=True):
    chains: tuple[ChainHead, ...] = ()


class _Peers(msgspec.Struct, frozen=True):
    """The part of `/v1/peers` that is needed."""

    peers: list[_Peer]


def read_witnesses(sources: Iterable[str]) -> Witness:
    """All heads of these sources: home folders, `witness.json` files, or URLs. Raises UsageError, ConnectionFailed."""
    heads: list[SeenHead] = []
    for source in sources:
        if source.startswith(("http://", "https://")):
            found = open_http(source).get("/v1/peers", _Peers)
            heads += [SeenHead(at_ms=0, chain=chain) for peer in found.peers for chain in peer.chains]
        else:
            heads += _read_file(Path(source).expanduser()).heads
    return Witness(heads=tuple(heads))


def _read_file(path: Path) -> Witness:
    path = path / FILE_NAME if path.is_dir() else path
    try:
        return decode_witness(path.read_bytes())
    except OSError as error:
        raise UsageError(f"--witness {path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeError):
        raise UsageError(f"--witness {path}: not a {FILE_NAME} of a Routebook") from None
