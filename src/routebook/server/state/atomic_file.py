"""Atomic file replacement: after a crash the file is either the old or the new version.

new content → temporary file in the same folder → fsync
old content → `<path>.bak`                        (a hard link, or a copy on file systems without them)
temporary file renamed over the file              (atomic)
folder → fsync                                    (the rename survives a power failure)
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path


def backup_of(path: Path) -> Path:
    """The file that holds the previous content."""
    return path.with_name(path.name + ".bak")


def write_atomically(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Replace the content of `path` (with `data`, or with its chunks) and keep the old content as `<path>.bak`.

    Permissions are kept; a symbolic link is followed. Raises OSError, with the file unchanged.
    """
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _write_beside(target, data)
    with _removed_on_error(temporary):
        if target.exists():
            _copy_permissions(target, temporary)
            _back_up(target, backup_of(path))
        temporary.replace(target)
    _sync_folder(target.parent)


def remove_leftovers(path: Path) -> int:
    """Remove the temporary files of a killed process beside `path`; the number of files removed."""
    target = path.resolve()
    count = 0
    for folder, name in {(target.parent, target.name), (path.parent, backup_of(path).name)}:
        for leftover in folder.glob(f".{_escaped(name)}.*.tmp"):
            with contextlib.suppress(OSError):
                leftover.unlink()
                count += 1
    return count


def _write_beside(target: Path, data: bytes | Iterable[bytes]) -> Path:
    handle, name = _temporary(target)
    temporary = Path(name)
    with _removed_on_error(temporary), os.fdopen(handle, "wb") as file:
        file.writelines((data,) if isinstance(data, bytes) else data)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _temporary(target: Path) -> tuple[int, str]:
    return tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)


def _copy_permissions(old: Path, new: Path) -> None:
    status = old.stat()
    new.chmod(status.st_mode & 0o7777)
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):  # only root can change the owner
            os.chown(new, status.st_uid, status.st_gid)


def _back_up(target: Path, backup: Path) -> None:
    """Keep the old content as `backup`; neither name is missing at any time."""
    handle, name = _temporary(backup)
    os.close(handle)
    step = Path(name)
    with _removed_on_error(step):
        step.unlink()
        try:
            step.hardlink_to(target)
        except OSError:  # hard links are not supported, or `backup` is on another file system
            shutil.copy2(target, step)
            with step.open("rb") as file:
                os.fsync(file.fileno())
        step.replace(backup)
        step.unlink(missing_ok=True)  # rename leaves both links if they point to the same file


@contextlib.contextmanager
def _removed_on_error(temporary: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:  # cleanup only: re-raised
        temporary.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _escaped(name: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
