"""Static files of the console, served from the installed package."""

import asyncio
import gzip
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from routebook.console import ASSETS
from routebook.server.http.errors import Problem
from routebook.server.http.transport import websocket
from routebook.server.http.transport.asgi import Receive, Scope, Send, respond, respond_problem

_PAGES: Final = frozenset({"/", "/brokers", "/topics", "/compare", "/controller", "/events", "/reports", "/admin"})
_NAMED_PAGES: Final = ("/brokers/", "/topics/")  # followed by one name, with encoded slashes
_FILES: Final = "/assets/"
_NOT_PAGES: Final = ("/assets", "/v1", "/schema", "/metrics", "/healthz", "/readyz")
_INDEX: Final = "index.html"
_TYPES: Final = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".ico": b"image/x-icon",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".png": b"image/png",
    ".svg": b"image/svg+xml",
    ".txt": b"text/plain; charset=utf-8",
    ".webmanifest": b"application/manifest+json",
    ".woff2": b"font/woff2",
}
_MIN_GZIP_BYTES: Final = 512
_CONTENT_SECURITY_POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"font-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)


def is_page_request(scope: Scope) -> bool:
    """Whether a browser navigates to a path outside the API: it gets the console, which shows an unknown page."""
    path = scope["raw_path"].decode("ascii")
    if scope.get("method") not in ("GET", "HEAD") or any(
        path == one or path.startswith(f"{one}/") for one in _NOT_PAGES
    ):
        return False
    return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])


class _Asset(msgspec.Struct, frozen=True):
    """One file; `gzipped` is None if compression saves nothing."""

    media_type: bytes
    plain: bytes
    gzipped: bytes | None
    tag: str
    changed_ns: int


class ConsoleFiles:
    """ASGI application for the console's paths. Caches files in memory until they change on disk."""

    def __init__(self, folder: Path = ASSETS) -> None:
        self._folder = folder
        self._assets: dict[str, _Asset] = {}

    @staticmethod
    def serves(path: str) -> bool:
        """Whether a raw, percent-encoded path belongs to the console."""
        if path in _PAGES or path.startswith(_FILES):
            return True
        return any(path.startswith(stem) and path != stem and "/" not in path[len(stem) :] for stem in _NAMED_PAGES)

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        path = scope["path"]
        is_file = path.startswith(_FILES)
        scope["path_template"] = f"{_FILES}*" if is_file else "/console"
        if scope["method"] != "GET":
            problem = Problem("the console's files are read-only", "use GET")
            await respond_problem(send, 405, problem, [(b"allow", b"GET, HEAD")])
            return
        if not is_file:
            await asyncio.to_thread(websocket.load)  # the page opens one next
        name = unquote(path.removeprefix(_FILES)) if is_file else _INDEX
        asset = None if is_file and name == _INDEX else await asyncio.to_thread(self._asset, name)
        if asset is None:
            await respond_problem(send, 404, Problem("file not found", "/ is the console, /schema describes the API"))
            return
        status = HTTPStatus.OK if self.serves(scope["raw_path"].decode("ascii")) else HTTPStatus.NOT_FOUND
        await self._respond(scope, send, asset, status=status, immutable=is_file)

    async def _respond(self, scope: Scope, send: Send, asset: _Asset, *, status: int, immutable: bool) -> None:
        request = {name: value.decode("latin-1") for name, value in scope["headers"]}
        gzipped = asset.gzipped if _accepts_gzip(request.get(b"accept-encoding", "")) else None
        tag = f'"{asset.tag}{"" if gzipped is None else "-gz"}"'
        headers = [
            (b"content-type", asset.media_type),
            (b"etag", tag.encode()),
            (b"cache-control", b"public, max-age=31536000, immutable" if immutable else b"no-cache"),
            (b"vary", b"accept-encoding"),
            (b"content-security-policy", _CONTENT_SECURITY_POLICY),
        ]
        if tag in {one.strip().removeprefix("W/") for one in request.get(b"if-none-match", "").split(",")}:
            await respond(send, 304, headers, None)
        elif gzipped is not None:
            await respond(send, status, [*headers, (b"content-encoding", b"gzip")], gzipped)
        else:
            await respond(send, status, headers, asset.plain)

    def _asset(self, name: str) -> _Asset | None:
        """Read a file on a thread; None unless it is a file inside the folder."""
        path = self._folder / name
        try:
            if ".." in path.parts or "\0" in name or not path.is_relative_to(self._folder) or not path.is_file():
                return None
            changed_ns = path.stat().st_mtime_ns
            cached = self._assets.get(name)
            if cached is not None and cached.changed_ns == changed_ns:
                return cached
            plain = path.read_bytes()
        except (OSError, ValueError):
            return None
        gzipped = gzip.compress(plain, compresslevel=9, mtime=0) if len(plain) >= _MIN_GZIP_BYTES else plain
        asset = self._assets[name] = _Asset(
            media_type=_TYPES.get(path.suffix, b"application/octet-stream"),
            plain=plain,
            gzipped=gzipped if len(gzipped) < len(plain) else None,
            tag=sha256(plain).hexdigest()[:20],
            changed_ns=changed_ns,
        )
        return asset


def _accepts_gzip(accepted: str) -> bool:
    codings = {coding.partition(";")[0].strip().lower(): coding for coding in accepted.split(",")}
    coding = codings.get("gzip") or codings.get("*")
    return coding is not None and not coding.replace(" ", "").endswith((";q=0", ";q=0.0"))
