"""Writes the KV file and the settings file on a thread, in order; waiting writes are combined."""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeAlias

import msgspec

from routebook.effects import SaveKv, SaveSettings
from routebook.kv import KvImage
from routebook.properties import decode_file, edit, encode_file
from routebook.server.state.atomic_file import write_atomically

Saved: TypeAlias = Callable[[str | None], None]
"""Called when the write is done, with the error text if it failed."""


class _Batch(msgspec.Struct):
    """The content of the next write, and the callbacks that wait for it."""

    kv: KvImage | None = None
    settings: dict[str, str] = {}
    kv_waiting: list[Saved] = []
    settings_waiting: list[Saved] = []


class ConfigSaver:
    """One thread writes; requests during a write share the next one, so a burst costs two writes."""

    def __init__(self, *, kv_path: Path, settings_path: Path, kv: Callable[[], KvImage] | None = None) -> None:
        """`kv` returns the table for the next write of the KV file; it is called on the event loop."""
        self._kv = kv
        self._kv_path = kv_path
        self._settings_path = settings_path
        self._next = _Batch()
        self._thread: ThreadPoolExecutor | None = None
        self._busy = False
        self._quiet = asyncio.Event()
        self._quiet.set()

    def save(self, effect: SaveKv | SaveSettings, saved: Saved) -> None:
        """Write `effect` after all earlier ones, then call `saved`."""
        if isinstance(effect, SaveKv):
            self._next.kv_waiting.append(saved)
        else:
            self._next.settings |= effect.changed
            self._next.settings_waiting.append(saved)
        if not self._busy:
            self._write_next()

    async def close(self) -> None:
        """Wait for all writes, and end the thread."""
        await self._quiet.wait()
        if self._thread is not None:
            self._thread.shutdown(wait=True)
            self._thread = None

    def _write_next(self) -> None:
        batch, self._next, self._busy = self._next, _Batch(), True
        self._quiet.clear()
        if batch.kv_waiting and self._kv is not None:
            batch.kv = self._kv()  # one image for all that wait
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="routebook-saver")
        loop = asyncio.get_running_loop()

        def written(future: Future[tuple[str | None, str | None]]) -> None:
            loop.call_soon_threadsafe(self._written, batch, future.result())

        self._thread.submit(self._write, batch).add_done_callback(written)

    def _written(self, batch: _Batch, errors: tuple[str | None, str | None]) -> None:
        self._busy = False
        if self._next.kv_waiting or self._next.settings_waiting:
            self._write_next()
        for waiting, error in zip((batch.kv_waiting, batch.settings_waiting), errors, strict=True):
            for saved in waiting:
                saved(error)
        if not self._busy:
            self._quiet.set()

    def _write(self, batch: _Batch) -> tuple[str | None, str | None]:
        kv_error = settings_error = None
        if batch.kv is not None:
            kv_error = _write(self._kv_path, batch.kv.chunks())
        if batch.settings:
            settings_error = _edit_settings(self._settings_path, batch.settings)
        return kv_error, settings_error


def _write(path: Path, data: bytes | Iterable[bytes]) -> str | None:
    try:
        write_atomically(path, data)
    except OSError as error:
        return f"cannot write {path}: {error.strerror or error}"
    return None


def _edit_settings(path: Path, changed: dict[str, str]) -> str | None:
    """Change values in the settings file; comments and other lines are kept."""
    try:
        before = path.read_bytes() if path.exists() else b""
    except OSError as error:
        return f"cannot read {path}: {error.strerror or error}"
    return _write(path, encode_file(edit(decode_file(before), changed)))
