"""lake.toml: what it may contain, where secrets come from, and the settings that are derived from it."""

from pathlib import Path

import pytest

from routebook.errors import UsageError
from routebook.lake.config import default_lake, lake_config, s3_properties, store_options
from routebook.lake.spark.catalog import catalog_settings, packages, store_settings, warehouse

SHARED = """
location = "s3://bucket/lake"
[catalog]
type = "postgresql"
uri = "postgresql://db:5432/lake?sslmode=require"
user = "routebook"
password = { file = "PASSWORD" }
[store]
endpoint = "http://s3:9000"
region = "eu-1"
path_style = true
access_key_id = { env = "KEY" }
secret_access_key = { env = "SECRET" }
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KEY", "k")
    monkeypatch.setenv("SECRET", "s")


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "password").write_text("p\n")
    file = tmp_path / "lake.toml"
    file.write_text(text.replace("PASSWORD", str(tmp_path / "password")))
    return file


def test_all_settings_come_from_one_file(tmp_path: Path) -> None:
    config = lake_config(written(tmp_path, SHARED))
    assert store_options(config.store) == {
        "endpoint": "http://s3:9000",
        "region": "eu-1",
        "virtual_hosted_style_request": False,
        "access_key_id": "k",
        "secret_access_key": "s",
    }
    key = "spark.sql.catalog.routebook"
    assert catalog_settings(config) == {
        f"{key}.type": "jdbc",
        f"{key}.uri": "jdbc:postgresql://db:5432/lake?sslmode=require",
        f"{key}.jdbc.schema-version": "V1",
        f"{key}.jdbc.user": "routebook",
        f"{key}.jdbc.password": "p",
        f"{key}.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        **{f"{key}.{name}": value for name, value in s3_properties(config.store).items()},
    }
    assert store_settings(config.store)["spark.hadoop.fs.s3a.secret.key"] == "s"
    assert warehouse(config) == "s3a://bucket/lake/warehouse"
    assert {name.split(":")[1] for name in packages(config)} >= {"postgresql", "iceberg-aws-bundle", "hadoop-aws"}


def test_a_folder_is_a_lake_with_the_embedded_catalog(tmp_path: Path) -> None:
    config = lake_config(tmp_path)
    assert (config.folder, config.state_folder, config.catalog.type) == (tmp_path, tmp_path, "sqlite")
    assert [name.split(":")[1] for name in packages(config)] == ["iceberg-spark-runtime-4.1_2.13", "sqlite-jdbc"]
    assert "hadoop-aws" in str(packages(config, "s3://bucket/journals"))


def test_what_the_file_leaves_out_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://other:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "k2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s2")
    assert s3_properties(lake_config(tmp_path).store) == {
        "s3.endpoint": "http://other:1",
        "s3.path-style-access": "true",
        "s3.access-key-id": "k2",
        "s3.secret-access-key": "s2",
    }


def test_a_relative_location_is_relative_to_the_file(tmp_path: Path) -> None:
    assert lake_config(written(tmp_path, 'location = "tables"')).folder == tmp_path / "tables"


def test_a_rest_catalog_has_a_warehouse_name(tmp_path: Path) -> None:
    text = (
        'location = "s3://b/l"\n[catalog]\ntype = "rest"\nuri = "https://c"\nwarehouse = "w"\ntoken = { env = "KEY" }'
    )
    settings = catalog_settings(lake_config(written(tmp_path, text)))
    assert settings["spark.sql.catalog.routebook.warehouse"] == "w"
    assert settings["spark.sql.catalog.routebook.token"] == "k"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('location = "s3://b/l"', "the embedded catalog is a file"),
        ('location = "s3://b/l"\n[catalog]\ntype = "postgresql"\nuri = "db:5432"', "does not begin with postgresql://"),
        ('location = "/l"\nwhere = 1', "unknown field `where`"),
        ('location = "/l"\n[catalog]\ntype = "hive"', "Invalid enum value 'hive'"),
        ('location = "/l"\n[catalog]\npassword = "secret"', r"Expected `object \| null`, got `str`"),
        ("location = ", "Invalid value"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        lake_config(written(tmp_path, text))


def test_a_missing_secret_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SECRET")
    with pytest.raises(UsageError, match="environment variable SECRET is not set"):
        store_options(lake_config(written(tmp_path, SHARED)).store)


def test_the_file_in_the_home_is_the_default(tmp_path: Path) -> None:
    assert default_lake(tmp_path) == tmp_path / "lake"
    written(tmp_path, SHARED)
    assert default_lake(tmp_path) == tmp_path / "lake.toml"


def test_a_remote_lake_has_a_local_folder_for_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    state = lake_config(written(tmp_path, SHARED)).state_folder
    assert state.parent == tmp_path / "state" / "routebook"
