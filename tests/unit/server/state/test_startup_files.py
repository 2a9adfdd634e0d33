"""Settings files in their order of precedence, and the KV file."""

from pathlib import Path

import pytest

from routebook.errors import KvFileError, SettingsError
from routebook.server.state.startup_files import load_kv, load_settings
from routebook.settings import Settings

NO_TLS_FILE = ("routebook.tls.configFile", "", "test")


def load(home: Path, file: Path | None = None, *options: tuple[str, str, str], **environ: str) -> Settings:
    return load_settings(home=home, file=file, environ=environ, options=[NO_TLS_FILE, *options])


def test_without_a_file_defaults_apply(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.listen_port == 9876
    assert settings.kv_config_path == f"{tmp_path}/kvConfig.json"
    assert settings.config_store_path == f"{tmp_path}/namesrv.properties"


def test_the_file_in_the_home_folder_is_the_default(tmp_path: Path) -> None:
    (tmp_path / "namesrv.properties").write_bytes(b"listenPort=1\n")
    other = tmp_path / "other.properties"
    other.write_bytes(b"waitSecondsForService=7\n")
    assert load(tmp_path).listen_port == 1
    settings = load(tmp_path, other)
    assert (settings.listen_port, settings.wait_seconds_for_service) == (9876, 7)
    assert settings.config_store_path == str(other)


def test_environment_and_options_override_the_file(tmp_path: Path) -> None:
    (tmp_path / "namesrv.properties").write_bytes(b"listenPort=1\nwaitSecondsForService=1\norderMessageEnable=true\n")
    settings = load(
        tmp_path,
        None,
        ("listenPort", "3", "-D"),
        ROUTEBOOK_LISTEN_PORT="2",
        ROUTEBOOK_WAIT_SECONDS_FOR_SERVICE="2",
    )
    assert (settings.listen_port, settings.wait_seconds_for_service) == (3, 2)
    assert settings.order_message_enable


def test_files_are_latin1_as_in_java(tmp_path: Path) -> None:
    (tmp_path / "namesrv.properties").write_bytes(b"kvConfigPath=/\xe9/\\u4e2d\n")
    assert load(tmp_path).kv_config_path == "/é/中"


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"settings file .*none\.properties does not exist"):
        load(tmp_path, tmp_path / "none.properties")
    with pytest.raises(SettingsError, match=r"cannot read .*: Is a directory"):
        load(tmp_path, tmp_path)


def test_an_error_names_the_line(tmp_path: Path) -> None:
    (tmp_path / "namesrv.properties").write_bytes(b"\nlistenPort=x\n")
    with pytest.raises(SettingsError, match=r"namesrv\.properties:2: listenPort=x"):
        load(tmp_path)


def test_the_settings_file_overrides_the_tls_file_of_java(tmp_path: Path) -> None:
    tls = tmp_path / "tls.properties"
    tls.write_bytes(b"tls.server.mode=enforcing\ntls.server.keyPath=tls-file\n")
    (tmp_path / "namesrv.properties").write_bytes(b"routebook.tls.keyPath=settings-file\n")
    settings = load_settings(home=tmp_path, file=None, environ={}, options=[("tls.config.file", str(tls), "-D")])
    assert (settings.tls.mode, settings.tls.key_path) == ("enforcing", "settings-file")


def test_a_named_tls_file_must_exist(tmp_path: Path) -> None:
    environ = {"ROUTEBOOK_TLS_CONFIG_FILE": str(tmp_path / "none")}
    with pytest.raises(SettingsError, match=r"ROUTEBOOK_TLS_CONFIG_FILE: .*none does not exist"):
        load_settings(home=tmp_path, file=None, environ=environ)


def test_a_missing_or_empty_kv_file_is_an_empty_store(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    assert len(load_kv(path)) == 0
    path.touch()
    assert len(load_kv(path)) == 0


def test_a_kv_file_of_java_is_read(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    path.write_bytes(b'{"configTable":{"a":{},"ORDER_TOPIC_CONFIG":{"TopicTest":"broker-a:4"}}}')
    store = load_kv(path)
    assert store.get("ORDER_TOPIC_CONFIG", "TopicTest") == "broker-a:4"
    assert store.list("a") == {}
    assert store.encode() == path.read_bytes()


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"{}",
        b'{"configTable":null}',
        b"[]",
        b'{"configTable":{a:{}}}',
        b'{"configTable":{}} x',
        b"\xef\xbb\xbf{}",
    ],
)
def test_a_corrupt_kv_file_stops_the_start_and_names_the_position(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "kv.json"
    path.write_bytes(content)
    with pytest.raises(
        KvFileError, match=r"KV file .*kv\.json is corrupt: .*line 1, column \d+.*; repair it, or move .* KV store$"
    ):
        load_kv(path)
    assert path.read_bytes() == content


def test_an_intact_backup_is_suggested(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    path.write_bytes(b'{"configTable":{"a":\n{"b"')
    (tmp_path / "kv.json.bak").write_bytes(b'{"configTable":{"a":{"b":"c"}}}')
    with pytest.raises(KvFileError, match=r"line 2, column \d+.*kv\.json\.bak, is intact \(1 entries\): copy it over"):
        load_kv(path)


def test_a_corrupt_backup_is_not_suggested(tmp_path: Path) -> None:
    path = tmp_path / "kv.json"
    path.write_bytes(b"{")
    (tmp_path / "kv.json.bak").write_bytes(b"{")
    with pytest.raises(KvFileError, match=r"kv\.json\.bak is unreadable, too"):
        load_kv(path)


def test_an_unreadable_kv_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(KvFileError, match=r"cannot read .*: Is a directory"):
        load_kv(tmp_path)
