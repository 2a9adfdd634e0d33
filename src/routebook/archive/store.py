"""Objects of one NameServer in an archive: S3, Google Cloud Storage, Azure, or a folder, through obstore.

Credentials and endpoints come from the environment of the process (AWS_…, GOOGLE_…, AZURE_…), instance roles included,
or from options of obstore.
Every call blocks and raises ArchiveError.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import msgspec

from routebook.errors import ArchiveError, UsageError

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES: Final = frozenset({"file", "s3", "s3a", "gs", "az", "abfs", "abfss"})
_CHUNK_BYTES: Final = 1 << 20
_TIMEOUT: Final = "60s"
_RETRIES: Final = 2  # the uploader repeats a failed upload itself, with growing delays


class ArchivedObject(msgspec.Struct, frozen=True):
    """An object: its name within the NameServer's prefix, and its size."""

    name: str
    size: int


class AlreadyArchived(ArchiveError):
    """An object with this name exists."""


def check_archive_url(url: str) -> str:
    """Return the URL without a final slash. Raises UsageError if its scheme is unknown or it names no place."""
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES or not (parts.netloc or parts.path.strip("/")):
        raise UsageError(f"archive {url!r}: not a URL such as s3://bucket/prefix, gs://…, az://… or file:///folder")
    return url.rstrip("/")


class ArchiveStore:
    """The objects below `url`. obstore is imported with the first instance."""

    def __init__(self, url: str, options: Mapping[str, str | bool] | None = None) -> None:
        self.url = check_archive_url(url)
        self._options = options or {}
        self._store: ObjectStore | None = None

    def nameservers(self) -> list[str]:
        """The ids of all NameServers that have objects."""
        with _errors(f"cannot list {self.url}"):
            found = self._call("list_with_delimiter", None)
        return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in found["common_prefixes"])

    def objects(self, ns: str, *, after: str = "") -> Iterator[ArchivedObject]:
        """The objects of a NameServer in the order of their names; with `after`, those with a greater name."""
        offset = f"{ns}/{after}" if after else None
        found: list[ArchivedObject] = []
        with _errors(f"cannot list {self.url}/{ns}"):
            for batch in self._call("list", ns, offset=offset):
                found += [ArchivedObject(entry["path"].rpartition("/")[2], entry["size"]) for entry in batch]
        yield from sorted(found, key=lambda entry: entry.name)

    def put_new(self, ns: str, name: str, file: Path) -> None:
        """Upload a whole file under a new name. Raises AlreadyArchived."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415  only with an archive

        try:
            with _errors(f"cannot upload {self.url}/{ns}/{name}", passed=(AlreadyExistsError, PreconditionError)):
                self._call("put", f"{ns}/{name}", file, mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError) as problem:
            raise AlreadyArchived(f"{self.url}/{ns}/{name} exists") from problem

    def put(self, ns: str, name: str, data: bytes) -> None:
        """Write a small object, replacing an older one."""
        with _errors(f"cannot write {self.url}/{ns}/{name}"):
            self._call("put", f"{ns}/{name}", data, use_multipart=False)

    def get(self, ns: str, name: str) -> bytes | None:
        """A small object; None if it does not exist."""
        try:
            with _errors(f"cannot read {self.url}/{ns}/{name}", passed=(FileNotFoundError,)):
                return bytes(self._call("get", f"{ns}/{name}").bytes())
        except FileNotFoundError:
            return None

    def download(self, ns: str, name: str, target: Path, *, on_bytes: Callable[[int], None] | None = None) -> None:
        """Download an object into a new file, which is complete when the call returns."""
        temporary = target.with_name(target.name + ".tmp")
        with _errors(f"cannot download {self.url}/{ns}/{name}"), temporary.open("wb") as file:
            for chunk in self._call("get", f"{ns}/{name}").stream(min_chunk_size=_CHUNK_BYTES):
                file.write(chunk)
                if on_bytes is not None:
                    on_bytes(len(chunk))
        temporary.replace(target)

    def _call(self, function: str, *args: Any, **options: Any) -> Any:
        import obstore  # noqa: PLC0415  15 MB that only an archive needs

        if self._store is None:
            self._store = _open(self.url, self._options)
        return getattr(obstore, function)(self._store, *args, **options)


def _open(url: str, options: Mapping[str, str | bool]) -> "ObjectStore":
    from obstore.store import from_url  # noqa: PLC0415

    if url.startswith("file:"):
        return from_url(url, mkdir=True)
    return from_url(
        url.replace("s3a://", "s3://", 1),
        **cast("Any", options),
        client_options={"allow_http": True, "timeout": _TIMEOUT},
        retry_config={"max_retries": _RETRIES},
    )


@contextmanager
def _errors(what: str, passed: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn errors of obstore into ArchiveError with one line."""
    try:
        yield
    except ImportError as problem:
        raise ArchiveError(f"{what}: {problem}; install routebook[archive]") from None
    except passed:
        raise
    except (OSError, ValueError) as problem:
        raise ArchiveError(f"{what}: {_first_line(problem)}") from problem
    except Exception as problem:  # obstore's exceptions derive from Exception directly
        if not type(problem).__module__.startswith("obstore"):
            raise
        raise ArchiveError(f"{what}: {_first_line(problem)}") from problem


def _first_line(problem: Exception) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0]
