"""The metadata locations of tables, from the catalogs that a lake can have. Each is thread-safe.

The tables of Iceberg's JDBC catalogs (SQLite, PostgreSQL) are queried directly: PyIceberg's own catalog imports
SQLAlchemy, which doubles the start-up time.
"""

import sqlite3
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

from routebook.lake.config import LakeConfig, s3_properties
from routebook.lake.errors import BrokenLake, NoLake
from routebook.lake.layout import CATALOG, CATALOG_FILE
from routebook.lake.postgres import catalog_error, connect, connection_errors

if TYPE_CHECKING:
    from pg8000.native import Connection  # type: ignore[import-untyped]  # pg8000 has no types

_BUSY_TIMEOUT_S: Final = 10.0
_QUERY: Final = (
    "SELECT metadata_location FROM iceberg_tables "
    "WHERE catalog_name = :catalog AND table_namespace = :namespace AND table_name = :name"
)


class TableLocations(Protocol):
    """A catalog."""

    def location(self, path: str) -> str | None:
        """The metadata location of a table such as `gold.broker_sessions`; None if it does not exist."""


def table_locations(config: LakeConfig) -> TableLocations:
    """The catalog of a lake. Raises NoLake, UsageError."""
    if config.catalog.type == "postgresql":
        return PostgresLocations(config)
    if config.catalog.type == "rest":
        return RestLocations(config)
    if config.folder is None:
        raise NoLake(config.given, why="the catalog of a lake in an object store is named by a lake.toml, see --lake")
    return SqliteLocations(config.folder)


class SqliteLocations:
    """The embedded catalog, opened read-only."""

    def __init__(self, lake: Path) -> None:
        self._file = lake / CATALOG_FILE
        if not self._file.is_file():
            raise NoLake(str(lake))

    def location(self, path: str) -> str | None:
        try:
            connection = sqlite3.connect(f"file:{quote(str(self._file))}?mode=ro", uri=True, timeout=_BUSY_TIMEOUT_S)
            try:
                row = connection.execute(_QUERY, _parameters(path)).fetchone()
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise BrokenLake(f"{self._file}: cannot read the catalog: {error}") from None
        return None if row is None else row[0]


class PostgresLocations:
    """A catalog in PostgreSQL: one connection, made again after it was lost."""

    def __init__(self, config: LakeConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def location(self, path: str) -> str | None:
        with self._lock:
            for is_last in (self._connection is None, True):
                if self._connection is None:
                    self._connection = connect(self._config)
                try:
                    rows = self._connection.run(_QUERY, **_parameters(path))
                except connection_errors() as error:
                    self._connection = None
                    if "42P01" in str(error):  # no table iceberg_tables: nothing was built yet
                        return None
                    if is_last:
                        raise catalog_error(self._config, error) from None
                else:
                    return rows[0][0] if rows else None
        return None


class RestLocations:
    """A REST catalog, through PyIceberg."""

    def __init__(self, config: LakeConfig) -> None:
        self._config = config
        self._catalog: Any = None
        self._lock = threading.Lock()

    def location(self, path: str) -> str | None:
        from pyiceberg.exceptions import NoSuchTableError, RESTError  # noqa: PLC0415  # only for this catalog

        with self._lock:
            try:
                if self._catalog is None:
                    self._catalog = self._open()
                return str(self._catalog.load_table(path).metadata_location)
            except NoSuchTableError:
                return None
            except (OSError, ValueError, RESTError) as error:
                raise catalog_error(self._config, error) from None

    def _open(self) -> Any:
        from pyiceberg.catalog.rest import RestCatalog  # noqa: PLC0415  # only for this catalog

        given = self._config.catalog
        options = {"uri": given.uri, "warehouse": given.warehouse, **s3_properties(self._config.store)}
        if given.token is not None:
            options["token"] = given.token.value()
        return RestCatalog(CATALOG, **{key: value for key, value in options.items() if value})


def _parameters(path: str) -> dict[str, str]:
    namespace, _, name = path.partition(".")
    return {"catalog": CATALOG, "namespace": namespace, "name": name}
