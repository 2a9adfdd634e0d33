"""The console's page and files, out of the package: nothing else on the disk can be asked for."""

import asyncio
import gzip
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from routebook.console import ASSETS
from routebook.server.http.errors import Problem
from routebook.server.http.transport import websocket
from routebook.server.http.transport.asgi import Receive, Scope, Send, respond

_PAGES: Final = frozenset({"/", "/brokers", "/topics", "/compare", "/events", "/reports", "/admin"})
_NAMED: Final = ("/brokers/", "/topics/")  # and one name, with its slashes encoded
_FILES: Final = "/assets/"
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
_WORTH_PACKING: Final = 512
POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"font-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)


class _Asset(msgspec.Struct, frozen=True):
    """One file, as it is and packed; `packed` is None where that saves nothing."""

    media_type: bytes
    plain: bytes
    packed: bytes | None
    tag: str
    changed_ns: int


class Pages:
    """Answers the paths of the console. Files are read when first asked for, and again when they have changed."""

    def __init__(self, folder: Path = ASSETS) -> None:
        self._folder = folder
        self._assets: dict[str, _Asset] = {}

    @staticmethod
    def owns(path: str) -> bool:
        """`path` as it was sent, still percent-encoded."""
        if path in _PAGES or path.startswith(_FILES):
            return True
        return any(path.startswith(stem) and path != stem and "/" not in path[len(stem) :] for stem in _NAMED)

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        path = scope["path"]
        is_file = path.startswith(_FILES)
        scope["path_template"] = f"{_FILES}*" if is_file else "/console"
        if scope["method"] != "GET":
            await _refuse(send, 405, Problem("this can only be read", "ask with GET"), (b"allow", b"GET, HEAD"))
            return
        if not is_file:
            await asyncio.to_thread(websocket.load)  # the page will open one
        name = unquote(path.removeprefix(_FILES)) if is_file else _INDEX
        asset = None if is_file and name == _INDEX else await asyncio.to_thread(self._asset, name)
        if asset is None:
            await _refuse(send, 404, Problem("there is no such file", "/ is the console, /schema the API"))
            return
        await self._answer(scope, send, asset, lasting=is_file)

    async def _answer(self, scope: Scope, send: Send, asset: _Asset, *, lasting: bool) -> None:
        asked = {name: value.decode("latin-1") for name, value in scope["headers"]}
        packs = asset.packed is not None and _takes_gzip(asked.get(b"accept-encoding", ""))
        tag = f'"{asset.tag}{"-gz" if packs else ""}"'
        headers = [
            (b"content-type", asset.media_type),
            (b"etag", tag.encode()),
            (b"cache-control", b"public, max-age=31536000, immutable" if lasting else b"no-cache"),
            (b"vary", b"accept-encoding"),
            (b"content-security-policy", POLICY),
        ]
        if tag in {one.strip().removeprefix("W/") for one in asked.get(b"if-none-match", "").split(",")}:
            await respond(send, 304, headers, None)
            return
        if packs and asset.packed is not None:
            await respond(send, 200, [*headers, (b"content-encoding", b"gzip")], asset.packed)
        else:
            await respond(send, 200, headers, asset.plain)

    def _asset(self, name: str) -> _Asset | None:
        """On a thread. Only files that stand in the folder, whatever a name says."""
        path = self._folder / name
        try:
            if ".." in path.parts or "\0" in name or not path.is_relative_to(self._folder) or not path.is_file():
                return None
            changed_ns = path.stat().st_mtime_ns
            known = self._assets.get(name)
            if known is not None and known.changed_ns == changed_ns:
                return known
            plain = path.read_bytes()
        except (OSError, ValueError):
            return None
        packed = gzip.compress(plain, compresslevel=9, mtime=0) if len(plain) >= _WORTH_PACKING else plain
        asset = self._assets[name] = _Asset(
            media_type=_TYPES.get(path.suffix, b"application/octet-stream"),
            plain=plain,
            packed=packed if len(packed) < len(plain) else None,
            tag=sha256(plain).hexdigest()[:20],
            changed_ns=changed_ns,
        )
        return asset


async def _refuse(send: Send, status: int, problem: Problem, *headers: tuple[bytes, bytes]) -> None:
    await respond(send, status, [(b"content-type", b"application/json"), *headers], msgspec.json.encode(problem))


def _takes_gzip(accepted: str) -> bool:
    codings = {coding.partition(";")[0].strip().lower(): coding for coding in accepted.split(",")}
    coding = codings.get("gzip") or codings.get("*")
    return coding is not None and not coding.replace(" ", "").endswith((";q=0", ";q=0.0"))
