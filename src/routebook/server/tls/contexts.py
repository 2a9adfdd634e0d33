"""The TLS context for new connections, reloaded when its PEM files change.

As in Java there are three modes, and test mode has a self-signed certificate. Unlike in Java, unusable files prevent
the start.
"""

import hashlib
import ssl
from pathlib import Path

from routebook.errors import TlsError
from routebook.server.tls.files import KEY_MISMATCH, expiry_ms, file_context, new_context, self_signed_context
from routebook.settings import TlsSettings


class TlsContexts:
    """`current` is the context for the next connection; `reload` replaces it."""

    def __init__(self, settings: TlsSettings) -> None:
        self.settings = settings
        self._context: ssl.SSLContext | None = None
        self._paths = {
            role: path
            for role, path in (
                ("cert", settings.cert_path),
                ("key", settings.key_path),
                ("trust", settings.trust_cert_path if settings.auth_client else None),
            )
            if path and not settings.test_mode and settings.mode != "disabled"
        }
        self._loaded: dict[str, bytes | None] = {}
        self._rejected: dict[str, bytes | None] = {}
        self._stats: dict[str, tuple[int, int, int] | None] = {}
        self.problem: str | None = None  # why changed files are not used
        self.expires_ms: int | None = None  # end of the certificate's validity

    @property
    def watches(self) -> bool:
        """Whether there are files that can change."""
        return bool(self._paths)

    def load(self) -> None:
        """Read the configured files. Raises TlsError."""
        if self.settings.mode == "disabled":
            return
        if self.settings.test_mode:
            new_context(self.settings)  # validates the options; the certificate is made for the first connection
            return
        self._loaded = self._digests()
        self._context = file_context(self.settings)
        self.expires_ms = expiry_ms(self.settings.cert_path)

    def current(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = self_signed_context(self.settings)
        return self._context

    def reload(self) -> str | None:
        """Use changed files for new connections. Return a message for the log, None if nothing has changed.

        Java waits until both certificate and key have changed. Here a renewed certificate for the same key is used at
        once; a pair that does not match is ignored until the other file changes.
        """
        stats = {role: _stat(path) for role, path in self._paths.items()}
        if stats == self._stats:
            return None
        self._stats = stats
        found = self._digests()
        changed = {role for role, digest in found.items() if digest != self._loaded.get(role)}
        if not changed or found == self._rejected:
            return None
        try:
            self._context = file_context(self.settings)
        except TlsError as error:
            self.problem = str(error)
            if changed <= {"cert", "key"} and len(changed) == 1 and KEY_MISMATCH in repr(error.__cause__):
                return None
            self._rejected = found
            return f"the changed TLS files cannot be used: {error}; new connections still use the previous files"
        self._loaded, self._rejected, self.problem = found, {}, None
        self.expires_ms = expiry_ms(self.settings.cert_path)
        return f"TLS files changed ({', '.join(sorted(changed))}): new connections use them"

    def _digests(self) -> dict[str, bytes | None]:
        return {role: _digest(path) for role, path in self._paths.items()}


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        stat = Path(path).stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _digest(path: str) -> bytes | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).digest()
    except OSError:
        return None
