"""`/v1/journal`: the finished segments of the journal, for servers that cannot upload to an archive themselves."""

import re
from collections.abc import AsyncGenerator
from typing import Any, Final

import msgspec
from litestar import Request, get
from litestar.response import Stream

from routebook.journal.files import Files
from routebook.journal.segments import list_segments
from routebook.server.http.api.parameters import NameInPath
from routebook.server.http.api.parts import Parts, PartsDep
from routebook.server.http.errors import ApiError, error_specs, response_spec

_CHUNK_BYTES: Final = 256 << 10
_RANGE: Final = re.compile(r"bytes=(\d{1,18})-(\d{0,18})")


class SegmentInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A finished segment: its name, and its size in bytes. Its content never changes."""

    name: str
    size: int


class JournalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The finished segments of this NameServer, oldest first."""

    ns: str
    segments: list[SegmentInfo]


@get("/v1/journal", summary="Finished segments of the journal", responses=error_specs(503))
async def segments(parts: PartsDep) -> JournalAnswer:
    """Names and sizes; `/v1/journal/{segment}` returns the content."""
    files = _files(parts)
    try:
        found = await parts.threads.run(lambda: _list(files))
    except OSError as problem:
        raise _unreadable(problem) from None
    return JournalAnswer(ns=parts.context.ns, segments=found)


@get(
    "/v1/journal/{segment:str}",
    summary="One finished segment",
    media_type="application/zstd",
    responses={
        200: response_spec(bytes, "The file: zstd-compressed lines of JSON", media_type="application/zstd"),
        206: response_spec(bytes, "The range of the file", media_type="application/zstd"),
        **error_specs(404, 416, 503),
    },
)
async def segment(request: Request[Any, Any, Any], parts: PartsDep, segment: NameInPath) -> Stream:
    """The whole file, or one range of it (`Range: bytes=FIRST-LAST`)."""
    files = _files(parts)
    try:
        size = {one.name: one.size for one in await parts.threads.run(lambda: _list(files))}.get(segment)
    except OSError as problem:
        raise _unreadable(problem) from None
    if size is None:
        raise ApiError(404, "no finished segment has this name", "GET /v1/journal lists the names")
    first, last = _range(request.headers.get("range"), size)
    headers = {"content-length": str(last + 1 - first), "accept-ranges": "bytes", "etag": f'"{segment}"'}
    is_part = "range" in request.headers
    if is_part:
        headers["content-range"] = f"bytes {first}-{last}/{size}"
    chunks = _read(parts, files, segment, first, last)
    return Stream(chunks, status_code=206 if is_part else 200, media_type="application/zstd", headers=headers)


async def _read(parts: Parts, files: Files, name: str, first: int, last: int) -> AsyncGenerator[bytes, None]:
    file = await parts.threads.run(lambda: files.open(name))
    try:
        file.seek(first)
        left = last + 1 - first
        while left and (chunk := await parts.threads.run(lambda: file.read(min(_CHUNK_BYTES, left)))):  # noqa: B023
            left -= len(chunk)
            yield chunk
    finally:
        file.close()


def _files(parts: Parts) -> Files:
    files = parts.context.journal_files
    if files is None:
        raise ApiError(503, "the journal is off", "set routebook.journal.enabled=true")
    return files


def _list(files: Files) -> list[SegmentInfo]:
    names = [segment.name for segment in list_segments(files.names()).segments if segment.rolled]
    return [SegmentInfo(name=name, size=files.size(name)) for name in names]


def _range(header: str | None, size: int) -> tuple[int, int]:
    """First and last byte. Raises ApiError for more than one range, or one outside the file."""
    if header is None:
        return 0, size - 1
    found = _RANGE.fullmatch(header.strip())
    first = int(found[1]) if found else size
    last = min(size - 1, int(found[2])) if found and found[2] else size - 1
    if first > last:
        raise ApiError(416, f"the segment has no range {header[:100]}", "send one range: bytes=FIRST-LAST")
    return first, last


def _unreadable(problem: OSError) -> ApiError:
    why = f"cannot read the journal: {problem.strerror or problem}"
    return ApiError(503, why, "/v1/health shows the state of the journal")
