"""Connections to the PostgreSQL database of a shared catalog; pg8000 is imported with the first one."""

import os
import socket
import ssl
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, unquote, urlsplit

from routebook.lake.config import LakeConfig
from routebook.lake.errors import BrokenLake, LakeExtraMissing

if TYPE_CHECKING:
    from pg8000.native import Connection  # type: ignore[import-untyped]  # pg8000 has no types

_TIMEOUT_S: Final = 10


def connect(config: LakeConfig, *, what: str = "read") -> "Connection":
    """Raises BrokenLake if the server is away, LakeExtraMissing without pg8000."""
    try:
        from pg8000.native import Connection  # noqa: PLC0415  # only for this catalog
    except ModuleNotFoundError:
        raise LakeExtraMissing("pg8000") from None
    catalog = config.catalog
    parts = urlsplit(catalog.uri)
    try:
        return Connection(
            catalog.user or unquote(parts.username or "") or "routebook",
            host=parts.hostname or "localhost",
            port=parts.port or 5432,
            database=parts.path.strip("/") or None,
            password=catalog.password.value() if catalog.password else None,
            ssl_context=_ssl_context(parse_qs(parts.query).get("sslmode", ["prefer"])[0]),
            timeout=_TIMEOUT_S,
            application_name=f"routebook lake {what}, process {os.getpid()} on {socket.gethostname()}",
        )
    except connection_errors() as error:
        raise catalog_error(config, error) from None


def connection_errors() -> tuple[type[Exception], ...]:
    """What a connection raises."""
    from pg8000.native import DatabaseError, InterfaceError  # noqa: PLC0415  # only for this catalog

    return OSError, DatabaseError, InterfaceError


def catalog_error(config: LakeConfig, error: Exception) -> BrokenLake:
    details = error.args[0] if error.args else error
    message = details.get("M", details) if isinstance(details, dict) else details
    return BrokenLake(
        f"--lake {config.given}: the catalog {config.catalog.uri} cannot be read: {message}; check that the server "
        "runs, and [catalog] in the file"
    )


def _ssl_context(mode: str) -> ssl.SSLContext | None:
    if mode in {"disable", "allow", "prefer"}:
        return None
    context = ssl.create_default_context()
    if mode == "require":  # encrypted, but the certificate is not checked
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
