"""The identities file: read at the start, and read again when it changes."""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from routebook.access.identities import Identities
from routebook.errors import AccessFileError
from routebook.server.observe.health import Condition, Part

_MODES: Final = (0o600, 0o400)
_MAX_BYTES: Final = 4 << 20


class IdentitiesFile:
    """`identities` are those in force. If a changed file is invalid, they stay in force, and `problem` says why.

    `on_change` is called after each change of the identities.
    """

    def __init__(self, path: Path, environ: Mapping[str, str] | None = None) -> None:
        """Read the file. Raises AccessFileError: a server that needs authentication does not start without it."""
        self._path = path
        self._environ = os.environ if environ is None else environ
        self._stamp = _stamp(path)
        self.identities = self._read()
        self.problem: str | None = None
        self.reloads = 0
        self.on_change: list[Callable[[], None]] = []

    def reload(self) -> str | None:
        """Read a changed file. Return a message for the log, None if the file has not changed."""
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return None
        self._stamp = stamp
        try:
            self.identities = self._read()
        except AccessFileError as error:
            self.problem = str(error)
            return f"the changed identities file is invalid: {error}; the previous identities stay in force"
        self.problem = None
        self.reloads += 1
        for call in self.on_change:
            call()
        return f"the identities file changed; identities in force: {len(self.identities)}"

    def health(self) -> Part:
        """Return the health component `access`: degraded while the changed file is invalid."""
        facts = {"identities": len(self.identities), "reloads": self.reloads}
        if self.problem is None:
            return Part(facts={**facts})
        says = f"{self.problem}; the previous identities stay in force"
        return Part(Condition.DEGRADED, says, {**facts})

    def _read(self) -> Identities:
        name = f"{self._path} (routebook.auth.file)"
        try:
            with self._path.open("rb") as file:
                status = os.fstat(file.fileno())
                _check(status, name)
                content = file.read(_MAX_BYTES + 1)
        except OSError as error:
            raise AccessFileError(f"cannot read {name}: {error.strerror or error}") from None
        if len(content) > _MAX_BYTES:
            raise AccessFileError(f"{name} is larger than {_MAX_BYTES >> 20} MiB")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise AccessFileError(f"{name} is not UTF-8 text") from None
        return Identities.parse(text, name=name, environ=self._environ)


def _check(status: os.stat_result, name: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise AccessFileError(f"{name} is not a file")
    mode = stat.S_IMODE(status.st_mode)
    if mode not in _MODES:
        raise AccessFileError(
            f"{name} has mode {mode:04o}, but it contains secrets and must be readable by its owner only; "
            "run chmod 600 on it"
        )


def _stamp(path: Path) -> tuple[int, int, int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode
