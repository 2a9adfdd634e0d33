"""Copies the finished segments of a NameServer, read over HTTP, into an archive: for servers that cannot upload."""

from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from routebook.archive.store import AlreadyArchived, ArchiveStore
from routebook.client.http import HttpClient, path_segment


class _Segment(msgspec.Struct, frozen=True):
    name: str
    size: int


class _Journal(msgspec.Struct, frozen=True):
    """The response of `/v1/journal`."""

    ns: str
    segments: list[_Segment]


class Mirrored(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied."""

    ns: str
    segments: int
    bytes: int


def mirror(client: HttpClient, store: ArchiveStore) -> Mirrored:
    """Copy what the archive lacks, oldest first, under the keys that an upload would use.

    A NameServer may upload at the same time: objects are only created, never replaced. Raises ArchiveError, and the
    errors of HttpClient.
    """
    found = client.get("/v1/journal", _Journal)
    archived = {entry.name for entry in store.objects(found.ns)}
    missing = [segment for segment in found.segments if segment.name not in archived]
    copied = copied_bytes = 0
    with TemporaryDirectory(prefix="routebook-mirror-") as folder:
        file = Path(folder) / "segment"
        for segment in missing:
            client.download(f"/v1/journal/{path_segment(segment.name)}", file, size=segment.size)
            try:
                store.put_new(found.ns, segment.name, file)
            except AlreadyArchived:
                continue
            copied, copied_bytes = copied + 1, copied_bytes + segment.size
    return Mirrored(ns=found.ns, segments=copied, bytes=copied_bytes)
