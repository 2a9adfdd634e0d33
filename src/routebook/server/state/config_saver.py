"""Puts KV entries and settings on disk, in order, away from the event loop; what waits together is written together."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import msgspec

from routebook.effects import SaveKv, SaveSettings
from routebook.properties import decode_file, edit, encode_file
from routebook.server.state.atomic_file import write_atomically

Saved: TypeAlias = Callable[[str | None], None]
"""Called when it is on disk, or with what went wrong."""


class _Round(msgspec.Struct):
    """What the next write puts on disk, and who waits for it."""

    kv: bytes | None = None
    settings: dict[str, str] = {}
    kv_waiting: list[Saved] = []
    settings_waiting: list[Saved] = []


class ConfigSaver:
    """One thread writes; requests that come meanwhile share the next write, so a burst costs two."""

    def __init__(self, *, kv_path: Path, settings_path: Path) -> None:
        self._kv_path = kv_path
        self._settings_path = settings_path
        self._next = _Round()
        self._thread: ThreadPoolExecutor | None = None
        self._busy = False
        self._quiet = asyncio.Event()
        self._quiet.set()

    def save(self, effect: SaveKv | SaveSettings, saved: Saved) -> None:
        """Put this on disk, after everything that was asked before."""
        if isinstance(effect, SaveKv):
            self._next.kv = effect.text  # it is the whole table, so the latest is enough
            self._next.kv_waiting.append(saved)
        else:
            self._next.settings |= effect.changed
            self._next.settings_waiting.append(saved)
        if not self._busy:
            self._write_next()

    async def close(self) -> None:
        """Wait until everything is on disk, and end the thread."""
        await self._quiet.wait()
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None

    def _write_next(self) -> None:
        this, self._next, self._busy = self._next, _Round(), True
        self._quiet.clear()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="routebook-saver")
        loop = asyncio.get_running_loop()

        def written(future: Future[tuple[str | None, str | None]]) -> None:
            loop.call_soon_threadsafe(self._written, this, future.result())

        self._thread.submit(self._write, this).add_done_callback(written)

    def _written(self, this: _Round, wrong: tuple[str | None, str | None]) -> None:
        self._busy = False
        if self._next.kv_waiting or self._next.settings_waiting:
            self._write_next()
        for waiting, what in zip((this.kv_waiting, this.settings_waiting), wrong, strict=True):
            for saved in waiting:
                saved(what)
        if not self._busy:
            self._quiet.set()

    def _write(self, this: _Round) -> tuple[str | None, str | None]:
        kv_wrong = settings_wrong = None
        if this.kv is not None:
            kv_wrong = _write(self._kv_path, this.kv)
        if this.settings:
            settings_wrong = _edit_settings(self._settings_path, this.settings)
        return kv_wrong, settings_wrong


def _write(path: Path, data: bytes) -> str | None:
    try:
        write_atomically(path, data)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror or error}"
    return None


def _edit_settings(path: Path, changed: dict[str, str]) -> str | None:
    """The settings file with other values in it; its comments and everything else stay."""
    try:
        before = path.read_bytes() if path.exists() else b""
    except OSError as error:
        return f"{path} cannot be read: {error.strerror or error}"
    return _write(path, encode_file(edit(decode_file(before), changed)))
