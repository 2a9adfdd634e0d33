"""Settings from their sources: precedence, errors and warnings."""

import re

import pytest

from routebook.errors import SettingsError
from routebook.model import RoutePolicy
from routebook.settings import (
    SETTINGS,
    How,
    Settings,
    Source,
    from_environment,
    from_file,
    from_options,
    from_tls_file,
    from_values,
)
from routebook.settings.java_settings import JAVA_OPTIONS
from routebook.settings.setting import Group
from routebook.settings.table import BY_ENV, BY_KEY, LISTEN_ENV


def file(text: str) -> Source:
    return from_file(text, name="ns.properties")


def option(key: str, value: str) -> Source:
    return from_options([(key, value, "-D")])


def test_defaults_equal_javas_except_for_the_address() -> None:
    settings = Settings.build(home="/h")
    assert (settings.bind_address, settings.listen_port) == ("127.0.0.1", 9876)
    assert settings.kv_config_path == "/h/kvConfig.json"
    assert settings.config_store_path == "/h/namesrv.properties"
    assert settings.wait_seconds_for_service == 45
    assert settings.policy == RoutePolicy()
    assert settings.return_order_topic_config_to_broker
    assert settings.enable_topic_list
    assert not settings.order_message_enable
    assert settings.max_inflated_bytes == 67108864
    assert settings.tls.mode == "permissive"
    assert settings.tls.test_mode
    assert settings.tls.key_path is None
    assert settings.warnings == ()
    assert settings.origins == {}


def test_defaults_are_valid() -> None:
    for setting in SETTINGS:
        if setting.default != "":
            assert setting.parse(str(setting.default)) == setting.default, setting.key


def test_keys_and_variables_are_unique() -> None:
    assert len(BY_KEY) == len(BY_ENV) == len(SETTINGS)
    assert LISTEN_ENV not in BY_ENV
    assert set(JAVA_OPTIONS.values()) <= set(BY_KEY)


def test_only_routebooks_settings_are_all_fixed() -> None:
    assert {setting.how for setting in SETTINGS if setting.group is Group.ROUTEBOOK} == {How.FIXED}
    assert all(setting.key.startswith("routebook.") == (setting.group is Group.ROUTEBOOK) for setting in SETTINGS)


@pytest.mark.parametrize(
    ("key", "env"),
    [
        ("listenPort", "ROUTEBOOK_LISTEN_PORT"),
        ("useTLS", "ROUTEBOOK_USE_TLS"),
        ("routebook.logFormat", "ROUTEBOOK_LOG_FORMAT"),
        ("routebook.tls.keyPath", "ROUTEBOOK_TLS_KEY_PATH"),
    ],
)
def test_names_of_variables_are_derived_from_keys(key: str, env: str) -> None:
    assert BY_KEY[key].env == env


def test_later_sources_override_earlier_ones() -> None:
    sources = [
        file("listenPort=1\nwaitSecondsForService=1\nroutebook.drainSeconds=1\nscanNotActiveBrokerInterval=1"),
        from_environment({"ROUTEBOOK_LISTEN_PORT": "2", "ROUTEBOOK_WAIT_SECONDS_FOR_SERVICE": "2", "HOME": "/root"}),
        option("listenPort", "3"),
    ]
    settings = Settings.build(sources)
    assert settings.listen_port == 3
    assert settings.wait_seconds_for_service == 2
    assert settings.drain_s == 1
    assert settings.scan_not_active_broker_interval_ms == 1
    assert settings.origins == {
        "listenPort": "-D",
        "waitSecondsForService": "environment ROUTEBOOK_WAIT_SECONDS_FOR_SERVICE",
        "routebook.drainSeconds": "ns.properties:3",
        "scanNotActiveBrokerInterval": "ns.properties:4",
    }


def test_values_are_trimmed_and_case_is_ignored() -> None:
    settings = Settings.build(
        [file("listenPort = 7 \nclusterTest= TRUE\nbindAddress= h \nroutebook.tls.mode=Disabled")]
    )
    assert (settings.listen_port, settings.bind_address, settings.tls.mode) == (7, "h", "disabled")
    assert settings.cluster_test


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("listenPort=98x6", "listenPort=98x6 is not a whole number from 0 to 65535"),
        ("listenPort=65536", "listenPort=65536 is not a whole number from 0 to 65535"),
        ("listenPort=", "listenPort='' is not a whole number from 0 to 65535"),
        ("listenPort=\\u0663", "listenPort=٣ is not a whole number from 0 to 65535"),
        ("clusterTest=yes", "clusterTest=yes is not true or false"),
        ("scanNotActiveBrokerInterval=0", "scanNotActiveBrokerInterval=0 is not a whole number from 1 to"),
        ("routebook.logFormat=xml", "routebook.logFormat=xml is not text or json"),
        ("routebook.logFromat=json", "routebook.logFromat is not a setting; did you mean routebook.logFormat?"),
        ("routebook.qqqqqq=1", "routebook.qqqqqq is not a setting"),
        ("routebook.listen=9876", "9876: not HOST:PORT"),
        ("routebook.productNamesrvAddr=a", "routebook.productNamesrvAddr=a is not HOST:PORT[;HOST:PORT]"),
        ("kvConfigPath=", "kvConfigPath='' is not a path"),
        ("a=\\u00zz", "\\u is not followed by four hexadecimal digits"),
        ("bindAddress=a\\nb", "bindAddress='a\\nb' is not a host name or address, without control characters"),
    ],
)
def test_an_invalid_value_or_key_is_an_error_with_its_line(line: str, message: str) -> None:
    with pytest.raises(SettingsError, match="^" + re.escape(f"ns.properties:2: {message}")):
        Settings.build([file(f"# comment\n{line}")])


def test_a_password_is_never_shown() -> None:
    with pytest.raises(SettingsError, match=re.escape("routebook.tls.keyPassword=*** is not")) as caught:
        Settings.build([file("routebook.tls.keyPassword=s3\\ncret")])
    assert "s3" not in str(caught.value)


def test_a_byte_order_mark_is_an_error() -> None:
    with pytest.raises(SettingsError, match=r"ns\.properties:1: .*byte order mark"):
        file("\xef\xbb\xbflistenPort=1")


def test_unknown_java_keys_are_kept_with_a_warning() -> None:
    settings = Settings.build([file("foo= bar \nlistenPrt=1\nconnectTimeoutMillis=7")])
    assert settings.foreign == {"foo": "bar ", "listenPrt": "1", "connectTimeoutMillis": "7"}
    assert settings.warnings == (
        "ns.properties:1: foo is not a setting and has no effect",
        "ns.properties:2: listenPrt is not a setting and has no effect; did you mean listenPort?",
    )
    assert "\nfoo=bar \n" in settings.text()
    assert "\nconnectTimeoutMillis=7\n" in settings.text()


def test_javas_jvm_options_in_the_file_have_no_effect_and_a_warning_names_the_setting() -> None:
    settings = Settings.build([file("tls.server.mode=enforcing")])
    assert settings.tls.mode == "permissive"
    assert settings.warnings == (
        "ns.properties:1: tls.server.mode has no effect in this file, as in Java; use routebook.tls.mode",
    )


def test_unknown_options_are_errors() -> None:
    with pytest.raises(SettingsError, match=r"-D: listenPrt is not a setting; did you mean listenPort\?"):
        Settings.build([option("listenPrt", "1")])


def test_unknown_variables_are_errors() -> None:
    with pytest.raises(SettingsError, match=r"ROUTEBOOK_TLS_MOD is not a setting; did you mean ROUTEBOOK_TLS_MODE\?"):
        Settings.build([from_environment({"ROUTEBOOK_TLS_MOD": "enforcing"})])


def test_variables_that_are_empty_or_not_settings_are_ignored() -> None:
    environ = {
        "ROUTEBOOK_LISTEN_PORT": "",
        "ROUTEBOOK_HOME": "/x",
        "ROUTEBOOK_SERVICE_HOST": "10.0.0.1",
        "ROUTEBOOK_SERVICE_PORT_REMOTING": "9876",
        "ROUTEBOOK_PORT": "tcp://10.0.0.1:9876",
        "ROUTEBOOK_PORT_9876_TCP_ADDR": "10.0.0.1",
        "ROUTEBOOK_0_PORT": "tcp://10.0.0.1:9876",
    }
    assert Settings.build([from_environment(environ)]).origins == {}


def test_a_port_variable_that_is_not_from_kubernetes_is_an_error() -> None:
    with pytest.raises(SettingsError, match="ROUTEBOOK_PORT is not a setting"):
        Settings.build([from_environment({"ROUTEBOOK_PORT": "9876"})])


def test_routebooks_serialize_type_variable_overrides_javas() -> None:
    java = {"ROCKETMQ_SERIALIZE_TYPE": "ROCKETMQ"}
    assert Settings.build([from_environment(java)]).serialize_type == "ROCKETMQ"
    both = {"ROUTEBOOK_SERIALIZE_TYPE": "json"} | java
    assert Settings.build([from_environment(both)]).serialize_type == "JSON"


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("0.0.0.0:0", "0.0.0.0", 0), ("[::1]:9876", "::1", 9876), ("ns.example:1", "ns.example", 1)],
)
def test_listen_is_short_for_address_and_port(text: str, host: str, port: int) -> None:
    for source in (option("routebook.listen", text), from_environment({"ROUTEBOOK_LISTEN": text})):
        settings = Settings.build([source])
        assert (settings.bind_address, settings.listen_port) == (host, port)


@pytest.mark.parametrize("text", ["", ":1", "h", "h:", "h:x", "h:65536", "::1:9876", "h:-1"])
def test_an_invalid_listen_address_is_an_error(text: str) -> None:
    with pytest.raises(SettingsError, match=r"-D: .*(HOST:PORT|brackets)"):
        Settings.build([option("routebook.listen", text)])


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("127.0.0.1", False),
        ("127.8.9.1", False),
        ("::1", False),
        ("localhost", False),
        ("0.0.0.0", True),
        ("::", True),
        ("10.0.0.1", True),
        ("ns.example", True),
    ],
)
def test_public_addresses_are_detected(address: str, public: bool) -> None:
    assert Settings.build([option("bindAddress", address)]).listens_publicly == public


def test_318_saves_to_the_c_file() -> None:
    text = "configStorePath=/elsewhere\nkvConfigPath=/kv.json"
    assert Settings.build([file(text)], home="/h", file="/etc/ns").config_store_path == "/etc/ns"
    assert Settings.build([file(text)], home="/h").config_store_path == "/elsewhere"
    assert Settings.build([file(text)], home="/h", file="/etc/ns").kv_config_path == "/kv.json"


def test_controller_keys_have_an_effect_only_with_a_controller() -> None:
    text = "controllerDLegerGroup=g1"
    (warning,) = Settings.build([file(text)]).warnings
    assert warning == "ns.properties:1: controllerDLegerGroup has no effect: enableControllerInNamesrv is false"
    for settings in (
        Settings.build([file(f"{text}\nenableControllerInNamesrv=true")]),
        Settings.build([file(text)], is_controller=True),
    ):
        assert settings.warnings == ()
        assert settings.foreign == {"controllerDLegerGroup": "g1"}


def test_javas_options_are_accepted() -> None:
    settings = Settings.build(
        [
            option("tls.server.mode", "enforcing"),
            option("rocketmq.serialize.type", "ROCKETMQ"),
            option("com.rocketmq.remoting.socket.sndbuf.size", "4096"),
        ]
    )
    assert settings.tls.mode == "enforcing"
    assert settings.serialize_type == "ROCKETMQ"
    assert settings.server_socket_snd_buf_size == 4096


def test_the_tls_file_accepts_javas_tls_keys_and_warns_of_others() -> None:
    text = "tls.test.mode.enable=false\ntls.server.keyPath=k\ntls.server.certPath=c\ntls.client.keyPath=x\nfoo=1"
    settings = Settings.build([from_tls_file(text, name="tls.properties")])
    assert not settings.tls.test_mode
    assert (settings.tls.key_path, settings.tls.cert_path) == ("k", "c")
    assert settings.warnings == (
        "tls.properties:4: tls.client.keyPath has no effect: outbound connections are plain",
        "tls.properties:5: foo is not one of Java's TLS keys and has no effect",
    )
    assert "tls" not in settings.text()


OWN_CERTIFICATE = {
    "routebook.tls.testMode": "false",
    "routebook.tls.keyPath": "k",
    "routebook.tls.certPath": "c",
}


def test_a_required_client_certificate_must_be_verified() -> None:
    required = OWN_CERTIFICATE | {"routebook.tls.needClientAuth": "require"}
    with pytest.raises(SettingsError, match=r"needClientAuth=require needs routebook\.tls\.authClient=true"):
        Settings.build([from_values(required)])
    checked = required | {"routebook.tls.authClient": "true", "routebook.tls.trustCertPath": "t"}
    assert Settings.build([from_values(checked)]).tls.need_client_auth == "require"
    assert Settings.build([from_values(required | {"routebook.tls.mode": "disabled"})]).tls.mode == "disabled"


def test_without_test_mode_a_certificate_is_needed() -> None:
    for missing in ("routebook.tls.keyPath", "routebook.tls.certPath"):
        given = {key: value for key, value in OWN_CERTIFICATE.items() if key != missing}
        with pytest.raises(SettingsError, match=f"testMode=false needs {re.escape(missing)}; or set"):
            Settings.build([from_values(given)])


def test_a_certificate_in_test_mode_causes_a_warning() -> None:
    (warning,) = Settings.build([from_values({"routebook.tls.certPath": "c"})]).warnings
    assert "routebook.tls.testMode=false" in warning


def test_a_cluster_test_without_a_production_environment_causes_a_warning() -> None:
    (warning,) = Settings.build([from_values({"clusterTest": "true"})]).warnings
    assert "-n" in warning
    given = {"clusterTest": "true", "routebook.productNamesrvAddr": "a:1; b:2"}
    settings = Settings.build([from_values(given)])
    assert settings.warnings == ()
    assert settings.product_namesrv_addrs == ("a:1", "b:2")


def test_port_0_is_replaced_by_the_real_port() -> None:
    settings = Settings.build([option("listenPort", "0")]).with_port(4711)
    assert settings.listen_port == 4711
    assert "\nlistenPort=4711\n" in settings.text()
