"""Reads the settings files and the KV file at the start."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from routebook.errors import BadRequest, KvFileError, SettingsError
from routebook.kv import KvStore
from routebook.properties import decode_file
from routebook.server.state.atomic_file import backup_of, remove_leftovers
from routebook.settings import (
    Settings,
    Source,
    from_environment,
    from_file,
    from_options,
    from_tls_file,
)
from routebook.settings.build import last_given
from routebook.settings.java_settings import TLS_CONFIG_FILE
from routebook.settings.setting import show
from routebook.settings.table import BY_KEY
from routebook.wire.request_bodies import decode_kv_table


def load_settings(
    *,
    home: Path,
    file: Path | None,
    environ: Mapping[str, str],
    options: Sequence[tuple[str, str, str]] = (),
    is_controller: bool = False,
) -> Settings:
    """Merge defaults, file, environment and options; later wins. Without `file`, use namesrv.properties in `home`."""
    used = file if file is not None else home / "namesrv.properties"
    sources = [from_environment(environ), from_options(options)]
    text = _read(used, optional=file is None)
    if text is not None:
        sources.insert(0, from_file(text, name=str(used)))
    tls = _tls_file(sources)
    if tls is not None:
        sources.insert(0, tls)
    return Settings.build(
        sources, home=str(home), file=None if file is None else str(file), is_controller=is_controller
    )


def load_kv(path: Path) -> KvStore:
    """Load the KV file; a missing or empty file is an empty store. Raises KvFileError.

    Java starts with an empty store if the file is unreadable, and the next write replaces the file.
    """
    remove_leftovers(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return KvStore()
    except OSError as error:
        raise KvFileError(f"cannot read KV file {path}: {error.strerror or error}") from None
    try:
        return _store(data)
    except BadRequest as error:
        raise KvFileError(f"KV file {path} is corrupt: {error.remark}; {_repair_hint(path)}") from None


def _tls_file(sources: Sequence[Source]) -> Source | None:
    """Java's TLS file: optional at its default path, required if a setting names it."""
    given = last_given(sources, TLS_CONFIG_FILE)
    name = given.value.strip() if given is not None else show(BY_KEY[TLS_CONFIG_FILE].default)
    if not name:
        return None
    try:
        text = _read(Path(name), optional=given is None)
    except SettingsError as error:
        raise SettingsError(f"{given.origin}: {error}" if given is not None else str(error)) from None
    return None if text is None else from_tls_file(text, name=name)


def _read(path: Path, *, optional: bool) -> str | None:
    try:
        return decode_file(path.read_bytes())
    except FileNotFoundError:
        if optional:
            return None
        raise SettingsError(f"settings file {path} does not exist") from None
    except OSError as error:
        raise SettingsError(f"cannot read settings file {path}: {error.strerror or error}") from None


def _store(data: bytes) -> KvStore:
    return KvStore(decode_kv_table(data)) if data else KvStore()


def _repair_hint(path: Path) -> str:
    backup = backup_of(path)
    start_empty = "repair it, or move it away to start with an empty KV store"
    try:
        entries = len(_store(backup.read_bytes()))
    except FileNotFoundError:
        return start_empty
    except (OSError, BadRequest):
        return f"{start_empty} ({backup.name} is unreadable, too)"
    return f"the previous version, {backup}, is intact ({entries} entries): copy it over {path.name}, or repair it"
