"""Replaces a file so that at every moment, also after a crash, somebody who opens it finds one whole version.

new content → temporary file in the same folder → fsync
old content → `<path>.bak`                        (a hard link, or a copy where there are none)
temporary file renamed over the file              (atomic)
folder → fsync                                    (the rename itself survives a power cut)
"""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path


def backup_of(path: Path) -> Path:
    """Where the content before the last write is kept."""
    return path.with_name(path.name + ".bak")


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path`, keeping what was there as `<path>.bak`.

    The file's permissions stay; where `path` is a symbolic link, what it points to is replaced. An OSError says which
    file it was about; the file is then as it was before.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _write_beside(target, data)
    try:
        if target.exists():
            _take_over_permissions(target, temporary)
            _keep(target, backup_of(path))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def remove_leftovers(path: Path) -> int:
    """Remove temporary files that a killed process left beside `path`; how many there were."""
    target = path.resolve()
    count = 0
    for folder, name in {(target.parent, target.name), (path.parent, backup_of(path).name)}:
        for leftover in folder.glob(f".{_escaped(name)}.*.tmp"):
            with contextlib.suppress(OSError):
                leftover.unlink()
                count += 1
    return count


def _write_beside(target: Path, data: bytes) -> Path:
    handle, name = _temporary(target)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _temporary(target: Path) -> tuple[int, str]:
    return tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)


def _take_over_permissions(old: Path, new: Path) -> None:
    status = old.stat()
    new.chmod(status.st_mode & 0o7777)
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):  # only root may give files away
            os.chown(new, status.st_uid, status.st_gid)


def _keep(target: Path, backup: Path) -> None:
    """The old content under another name, without a moment in which either name is missing."""
    handle, name = _temporary(backup)
    os.close(handle)
    step = Path(name)
    try:
        step.unlink()
        try:
            step.hardlink_to(target)
        except OSError:  # no hard links here, or `backup` is on another file system
            shutil.copy2(target, step)
            with step.open("rb") as file:
                os.fsync(file.fileno())
        step.replace(backup)
        step.unlink(missing_ok=True)  # renaming a link over another to the same file leaves both
    except BaseException:
        step.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _escaped(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
