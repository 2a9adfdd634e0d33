"""What `--journal` can name: a journal folder, an archive with a folder per NameServer, a NameServer's HTTP port."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from routebook.archive.store import ArchiveStore
from routebook.client.http import HttpClient
from routebook.client.journal_mirror import mirror
from routebook.errors import ArchiveError, ConnectionFailed
from routebook.lake.config import LakeConfig, store_options
from routebook.lake.errors import JournalUnreadable
from routebook.lake.paths import Place

_COPIES: Final = "journals"  # below the lake: segments copied from HTTP ports
_SEGMENTS: Final = (".jsonl", ".jsonl.zst")


def is_http(given: str) -> bool:
    return given.startswith(("http://", "https://"))


def folders_of(given: str, config: LakeConfig, client: Callable[[str], HttpClient] = HttpClient) -> list[str]:
    """The journal folders. The segments of an HTTP port are copied to the lake first. Raises JournalUnreadable."""
    options = store_options(config.store)
    if is_http(given):
        folder = config.folder
        copies = f"{config.location if folder is None else folder.as_uri()}/{_COPIES}"
        try:
            ns = mirror(client(given), ArchiveStore(copies, options if config.is_s3 else None)).ns
        except (ArchiveError, ConnectionFailed) as error:
            raise JournalUnreadable(f"--journal {given}: {error}") from None
        return [f"{config.location}/{_COPIES}/{ns}"]
    place = Place(given)
    if place.local is not None:
        try:
            entries = list(place.local.iterdir())
        except OSError:  # reported when it is read
            return [given]
        nameservers = sorted(str(entry) for entry in entries if entry.is_dir() and _has_segments(entry.iterdir()))
        return nameservers if nameservers and not _has_segments(entries) else [given]
    if not given.startswith(("s3://", "s3a://")):
        return [given]
    archive = ArchiveStore(given, options)
    try:
        nameservers = archive.nameservers()
    except ArchiveError as error:
        raise JournalUnreadable(f"--journal {given}: {error}") from None
    return [f"{archive.url}/{ns}" for ns in nameservers] or [given]


def _has_segments(entries: Iterable[Path]) -> bool:
    return any(entry.name.endswith(_SEGMENTS) for entry in entries)
