"""Spark settings of a lake's catalog and object store, and the packages that they need."""

from typing import Final

from routebook.errors import UsageError
from routebook.lake.config import LakeConfig, StoreConfig, s3_properties
from routebook.lake.layout import CATALOG, CATALOG_FILE, WAREHOUSE

CATALOG_KEY: Final = f"spark.sql.catalog.{CATALOG}"
ICEBERG: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
_SQLITE: Final = "org.xerial:sqlite-jdbc:3.50.3.0"
_POSTGRESQL: Final = "org.postgresql:postgresql:42.7.14"
# Iceberg's bundle has the AWS SDK that hadoop-aws needs, too, but for two parts. Their version is that of the bundle.
_S3: Final = (
    "org.apache.iceberg:iceberg-aws-bundle:1.12.0",
    "org.apache.hadoop:hadoop-aws:3.4.2",
    "software.amazon.awssdk:apache-client:2.54.17",
    "software.amazon.awssdk:s3-transfer-manager:2.54.17",
)
_EXCLUDED: Final = "software.amazon.awssdk:bundle,org.slf4j:slf4j-api"  # 640 MB that the above replaces
_S3A: Final = "spark.hadoop.fs.s3a"


def packages(config: LakeConfig, *places: str) -> list[str]:
    """The Maven packages for this lake and these journals."""
    wanted = [ICEBERG]
    if config.catalog.type == "sqlite":
        wanted.append(_SQLITE)
    if config.catalog.type == "postgresql":
        wanted.append(_POSTGRESQL)
    if any(place.startswith(("s3://", "s3a://")) for place in (config.location, *places)):
        wanted += _S3
    return wanted


def catalog_settings(config: LakeConfig) -> dict[str, str]:
    """The catalog that the configuration names, and its store."""
    settings = {f"{CATALOG_KEY}.{key}": value for key, value in _catalog(config).items()}
    if config.is_s3:
        settings[f"{CATALOG_KEY}.io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
        settings |= {f"{CATALOG_KEY}.{key}": value for key, value in s3_properties(config.store).items()}
    return settings


def store_settings(store: StoreConfig) -> dict[str, str]:
    """Hadoop's access to the store, for journals and checkpoints. Empty values are left to Hadoop's defaults."""
    keys = store.keys() or ("", "")
    found = {
        f"{_S3A}.endpoint": store.endpoint,
        f"{_S3A}.endpoint.region": store.region,
        f"{_S3A}.path.style.access": "true" if store.path_style else "",
        f"{_S3A}.access.key": keys[0],
        f"{_S3A}.secret.key": keys[1],
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.jars.excludes": _EXCLUDED,
    }
    return {key: value for key, value in found.items() if value}


def _catalog(config: LakeConfig) -> dict[str, str]:
    catalog = config.catalog
    if catalog.type == "rest":
        found = {"type": "rest", "uri": catalog.uri, "warehouse": catalog.warehouse}
        found["token"] = catalog.token.value() if catalog.token else ""
        return {key: value for key, value in found.items() if value}
    if catalog.type == "postgresql":
        uri = catalog.uri.partition("://")[2].rpartition("@")[2]
        password = {"jdbc.password": catalog.password.value()} if catalog.password else {}
        user = {"jdbc.user": catalog.user} if catalog.user else {}
        return _jdbc(f"jdbc:postgresql://{uri}") | user | password
    folder = config.folder
    if folder is None:
        raise UsageError(
            f"--lake {config.given}: the embedded catalog is a local file; name the catalog of this lake in a "
            f"lake.toml, or configure one with --conf {CATALOG_KEY}.type=rest --conf {CATALOG_KEY}.uri=…"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--lake {folder}: {error.strerror}") from None
    return _jdbc(f"jdbc:sqlite:{folder / CATALOG_FILE}?busy_timeout=20000")


def _jdbc(uri: str) -> dict[str, str]:
    return {"type": "jdbc", "uri": uri, "jdbc.schema-version": "V1"}


def warehouse(config: LakeConfig) -> str:
    """The folder of the tables. Hadoop knows S3 as s3a."""
    return f"{hadoop_location(config.location)}/{WAREHOUSE}"


def hadoop_location(location: str) -> str:
    return f"s3a{location.removeprefix('s3')}" if location.startswith("s3://") else location
