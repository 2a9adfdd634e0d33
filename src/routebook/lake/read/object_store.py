"""Reads the files of a lake in S3 without a JVM: metadata for PyIceberg, rows for DuckDB, both through obstore."""

import io
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile

from routebook.lake.config import LakeConfig, store_options

if TYPE_CHECKING:
    from obstore.store import S3Store

_CLIENT: Final[Any] = {"allow_http": True, "timeout": "60s", "connect_timeout": "5s"}
_RETRIES: Final[Any] = {"max_retries": 3}


class ObjectStores:
    """The buckets of one lake."""

    def __init__(self, config: LakeConfig) -> None:
        self._options: Any = dict(store_options(config.store))
        self._stores: dict[str, S3Store] = {}
        self._duckdb: Any = None

    def of(self, location: str) -> "tuple[S3Store, str]":
        """The bucket of a location, and the key in it."""
        from obstore.store import S3Store  # noqa: PLC0415  # only for lakes in an object store

        parts = urlsplit(location)
        if parts.netloc not in self._stores:
            self._stores[parts.netloc] = S3Store(
                parts.netloc, client_options=_CLIENT, retry_config=_RETRIES, **self._options
            )
        return self._stores[parts.netloc], parts.path.lstrip("/")

    def duckdb(self) -> Any:
        """A file system for DuckDB, which reads the columns and row groups that a query needs."""
        if self._duckdb is None:
            from obstore.fsspec import FsspecStore  # noqa: PLC0415  # only for lakes in an object store

            self._duckdb = FsspecStore("s3", client_options=_CLIENT, retry_config=_RETRIES, **self._options)
        return self._duckdb


class ObjectFileIO(FileIO):
    """Iceberg's metadata files: read whole, never written."""

    def __init__(self, stores: ObjectStores) -> None:
        super().__init__({})
        self._stores = stores

    def new_input(self, location: str) -> InputFile:
        return _Object(location, self._stores)

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError(f"{location}: readers do not write")

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise NotImplementedError(f"{location}: readers do not delete")


class _Object(InputFile):
    def __init__(self, location: str, stores: ObjectStores) -> None:
        super().__init__(location)
        self._stores = stores

    def __len__(self) -> int:
        import obstore  # noqa: PLC0415  # only for lakes in an object store

        return int(obstore.head(*self._stores.of(self.location))["size"])

    def exists(self) -> bool:
        try:
            return len(self) >= 0
        except FileNotFoundError:
            return False

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002  # the interface's
        import obstore  # noqa: PLC0415  # only for lakes in an object store

        try:
            return io.BytesIO(obstore.get(*self._stores.of(self.location)).bytes().to_bytes())
        except FileNotFoundError:
            raise
        except Exception as error:  # obstore's exceptions derive from Exception directly
            raise OSError(f"{self.location}: {str(error).splitlines()[0]}") from error
