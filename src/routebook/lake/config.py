"""`lake.toml`: the location, catalog and object store of a lake, for builds, readers, the console and spark-submit.

    location = "s3://bucket/lake"

    [catalog]
    type = "postgresql"                        # or "rest", or "sqlite": a file in the folder of the lake
    uri = "postgresql://db.example:5432/lake"
    user = "routebook"
    password = { env = "LAKE_PASSWORD" }       # or { file = "/run/secrets/lake" }

    [store]
    endpoint = "http://s3.example:9000"        # for servers other than AWS
    region = "us-east-1"
    path_style = true
    access_key_id = { env = "AWS_ACCESS_KEY_ID" }
    secret_access_key = { env = "AWS_SECRET_ACCESS_KEY" }

A folder, or a URI without a file, is a lake with the embedded catalog.
"""

import os
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final, Literal

import msgspec

from routebook.errors import UsageError
from routebook.lake.paths import Place

FILE: Final = "lake.toml"  # in the home of a server: the lake of its console and of `routebook lake`


class Secret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a secret is: an environment variable, or a file whose final line feed is ignored."""

    env: str | None = None
    file: str | None = None

    def value(self) -> str:
        """Raises UsageError."""
        if (self.env is None) == (self.file is None):
            raise UsageError('a secret is { env = "NAME" } or { file = "PATH" }')
        if self.env is not None:
            if self.env not in os.environ:
                raise UsageError(f"the environment variable {self.env} is not set; lake.toml names it as a secret")
            return os.environ[self.env]
        try:
            return Path(str(self.file)).expanduser().read_text().removesuffix("\n")
        except OSError as error:
            raise UsageError(f"{self.file}: {error.strerror}; lake.toml names it as a secret") from None


class CatalogConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The Iceberg catalog."""

    type: Literal["sqlite", "postgresql", "rest"] = "sqlite"
    uri: str = ""
    user: str = ""
    password: Secret | None = None
    token: Secret | None = None  # of a REST catalog
    warehouse: str = ""  # of a REST catalog: the name that the server knows


class StoreConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The object store. Without keys, each library looks for them itself: environment, profile, instance role."""

    endpoint: str = ""
    region: str = ""
    path_style: bool = False
    access_key_id: Secret | None = None
    secret_access_key: Secret | None = None

    def keys(self) -> tuple[str, str] | None:
        if self.access_key_id is None or self.secret_access_key is None:
            return None
        return self.access_key_id.value(), self.secret_access_key.value()


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    location: str
    catalog: CatalogConfig = CatalogConfig()
    store: StoreConfig = StoreConfig()


class LakeConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One lake."""

    given: str  # as the user wrote it, for messages
    location: str  # a local path, or a URI
    catalog: CatalogConfig = CatalogConfig()
    store: StoreConfig = StoreConfig()
    is_file: bool = False  # of a lake.toml

    @property
    def folder(self) -> Path | None:
        """The local folder; None if the lake is in an object store."""
        return Place(self.location).local

    @property
    def is_s3(self) -> bool:
        return self.location.startswith(("s3://", "s3a://"))

    @property
    def state_folder(self) -> Path:
        """A local folder for Spark's log and the status of `lake follow`."""
        if self.folder is not None:
            return self.folder
        root = Path(os.environ.get("XDG_STATE_HOME") or "~/.local/state").expanduser()
        return root / "routebook" / f"lake-{blake2b(self.location.encode(), digest_size=6).hexdigest()}"


def lake_config(given: str | Path) -> LakeConfig:
    """The lake that `--lake` names: a lake.toml, a folder or a URI. Raises UsageError."""
    text = str(given)
    if not text.endswith(".toml"):
        return LakeConfig(given=text, location=Place(text).text, store=_with_environment(StoreConfig()))
    path = Path(text).expanduser()
    try:
        read = msgspec.toml.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise UsageError(f"--lake {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"--lake {path}: {error}") from None
    return _checked(
        LakeConfig(
            given=text,
            location=_absolute(read.location, path.parent),
            catalog=read.catalog,
            store=_with_environment(read.store),
            is_file=True,
        )
    )


def default_lake(home: Path) -> Path:
    """The lake of a server: HOME/lake.toml if it exists, else the folder HOME/lake."""
    return home / FILE if (home / FILE).is_file() else home / "lake"


def s3_properties(store: StoreConfig) -> dict[str, str]:
    """The store as properties of Iceberg, which Spark's catalog and PyIceberg share."""
    found = {"s3.endpoint": store.endpoint, "s3.path-style-access": "true" if store.path_style else ""}
    found |= {"client.region": store.region}
    if (keys := store.keys()) is not None:
        found |= {"s3.access-key-id": keys[0], "s3.secret-access-key": keys[1]}
    return {key: value for key, value in found.items() if value}


def store_options(store: StoreConfig) -> Mapping[str, str | bool]:
    """The store as options of obstore's S3Store."""
    found: dict[str, str | bool] = {"virtual_hosted_style_request": not store.path_style and not store.endpoint}
    found |= {key: value for key, value in (("endpoint", store.endpoint), ("region", store.region)) if value}
    if (keys := store.keys()) is not None:
        found |= {"access_key_id": keys[0], "secret_access_key": keys[1]}
    return found


def _with_environment(store: StoreConfig) -> StoreConfig:
    """The store with what the file leaves out, from the variables that S3 clients use."""
    endpoint = store.endpoint or os.environ.get("AWS_ENDPOINT_URL", "")
    has_keys = "AWS_ACCESS_KEY_ID" in os.environ and "AWS_SESSION_TOKEN" not in os.environ
    return StoreConfig(
        endpoint=endpoint,
        region=store.region or os.environ.get("AWS_REGION", ""),
        path_style=store.path_style or bool(endpoint),
        access_key_id=store.access_key_id or (Secret(env="AWS_ACCESS_KEY_ID") if has_keys else None),
        secret_access_key=store.secret_access_key or (Secret(env="AWS_SECRET_ACCESS_KEY") if has_keys else None),
    )


def _absolute(location: str, folder: Path) -> str:
    """A relative path is relative to the file that names it."""
    place = Place(location)
    if place.local is None or location.startswith(("/", "~", "file:")):
        return place.text
    return str((folder / location).absolute())


def _checked(config: LakeConfig) -> LakeConfig:
    catalog = config.catalog
    if catalog.type == "sqlite" and config.folder is None:
        raise UsageError(
            f"--lake {config.given}: the embedded catalog is a file beside the tables, and {config.location} is not a "
            'folder; set [catalog] type to "postgresql" or "rest"'
        )
    schemes = {"postgresql": ("postgresql://", "postgres://"), "rest": ("http://", "https://")}.get(catalog.type)
    if schemes is not None and not catalog.uri.startswith(schemes):
        raise UsageError(f"--lake {config.given}: [catalog] uri {catalog.uri!r} does not begin with {schemes[0]}")
    return config
