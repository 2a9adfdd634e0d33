"""318 and 319 as Java answers them, and the intended differences."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.errors import BadRequest, Denied
from routebook.settings import SETTINGS, How, Settings, from_file, from_values
from routebook.settings.table import BY_KEY

GOLDEN = Path(__file__).parents[2] / "golden" / "golden.jsonl"
CAPTURED_ON = {
    "bindAddress": "0.0.0.0",
    "configStorePath": "/PATH/namesrv.properties",
    "kvConfigPath": "/PATH/kvConfig.json",
    "rocketmqHome": "/PATH",
}
DEFAULTS = Settings.build(home="/h")


def test_answers_what_java_answered() -> None:
    settings = Settings.build([from_values(CAPTURED_ON)])
    first = settings.update(body("config-update", "request_hex"))
    assert first.remark is None
    assert first.changed == {"orderMessageEnable": ("false", "true"), "supportActingMaster": ("false", "true")}
    assert first.settings.order_message_enable
    assert first.settings.policy.support_acting_master
    assert first.settings.text().encode() == body("config-text", "response_hex")

    off = first.settings.update(body("topics-disabled-set", "request_hex"))
    assert (off.settings.enable_topic_list, off.settings.enable_all_topic_list) == (False, False)
    waiting = off.settings.update(body("not-ready-set", "request_hex"))
    assert (waiting.settings.need_wait_for_service, waiting.settings.wait_seconds_for_service) == (True, 1000000)

    back = waiting.settings.update(body("settings-back", "request_hex"))
    assert back.remark is None
    assert back.settings.text() == settings.text()
    assert not settings.order_message_enable


def test_rejects_what_java_rejects() -> None:
    with pytest.raises(Denied, match=r"^Can not update config in black list\.$"):
        DEFAULTS.update(body("config-black-list", "request_hex"))
    with pytest.raises(BadRequest, match=r"^string2Properties error$"):
        DEFAULTS.update(body("config-malformed", "request_hex"))


def test_the_exploit_of_cve_2023_37582_is_rejected() -> None:
    """It turned the settings file into one of the attacker's choice: a path, and content in another key."""
    exploit = b"orderMessageEnable=true\nconfigStorePath=/tmp/pwned\nproductEnvName=test\\n* * * * * root id > /tmp/p\n"
    for attempt in (exploit, exploit.replace(b"configStorePath", b"kvConfigPath"), exploit.replace(b"C", b"\\u0043")):
        with pytest.raises(Denied):
            DEFAULTS.update(attempt)
    assert "orderMessageEnable=false\n" in DEFAULTS.text()


NEVER = [setting.key for setting in SETTINGS if setting.how is How.FIXED]


@pytest.mark.parametrize("key", [*NEVER, "routebook.listen", "routebook.anything"])
def test_paths_ports_addresses_black_lists_and_own_keys_never_change_over_the_wire(key: str) -> None:
    with pytest.raises(Denied):
        DEFAULTS.update(f"orderMessageEnable=true\n{key}=1\n".encode())


def test_fixed_settings_include_javas_paths_addresses_and_lists() -> None:
    expected = {"rocketmqHome", "kvConfigPath", "configStorePath", "configBlackList", "bindAddress", "listenPort"}
    assert expected == {key for key in NEVER if not key.startswith("routebook.")}


def test_the_configured_black_list_applies() -> None:
    settings = Settings.build([from_values({"configBlackList": "enableTopicList; orderMessageEnable;;foo"})])
    for key in (b"enableTopicList", b"orderMessageEnable", b"foo", b"kvConfigPath"):
        with pytest.raises(Denied):
            settings.update(key + b"=true")
    assert settings.update(b"enableAllTopicList=false").changed


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("foo=1", "not applied: foo: no such setting"),
        ("orderMesageEnable=true", "not applied: orderMesageEnable: no such setting, did you mean orderMessageEnable?"),
        (
            "waitSecondsForService=x",
            "not applied: waitSecondsForService: x is not a whole number from -2147483648 to 2147483647",
        ),
        ("enableTopicList=yes", "not applied: enableTopicList: yes is not true or false"),
        ("enableTopicList=", "not applied: enableTopicList: '' is not true or false"),
        (
            "clusterTest=true",
            "not applied: clusterTest: needs a restart: change it in the settings file and restart",
        ),
        (
            "defaultThreadPoolNums=3",
            f"not applied: defaultThreadPoolNums: has no effect ({BY_KEY['defaultThreadPoolNums'].note})",
        ),
        ("a\\u001b[2J=1", "not applied: 'a\\x1b[2J': no such setting"),
    ],
)
def test_the_remark_lists_what_is_not_applied(text: str, remark: str) -> None:
    update = DEFAULTS.update(f"{text}\norderMessageEnable=true".encode())
    assert update.remark == remark
    assert update.changed == {"orderMessageEnable": ("false", "true")}
    assert update.settings.text() == DEFAULTS.text().replace("orderMessageEnable=false", "orderMessageEnable=true")


def test_a_remark_lists_a_limited_number_of_keys() -> None:
    update = DEFAULTS.update("".join(f"unknown{number}{'x' * 200}=1\n" for number in range(1000)).encode())
    assert len(update.not_applied) == 1000
    assert update.remark is not None
    assert update.remark.endswith("; and 990 more")
    assert len(update.remark) < 2000


def test_a_large_body_is_rejected_before_it_is_parsed() -> None:
    with pytest.raises(BadRequest, match=r"^string2Properties error: more than"):
        DEFAULTS.update(b"a=1\n" * 100_000)


@pytest.mark.parametrize("text", ["", "# nothing\n", "enableTopicList=true", "waitSecondsForService = +45 "])
def test_equal_values_change_nothing(text: str) -> None:
    update = DEFAULTS.update(text.encode())
    assert update.settings is DEFAULTS
    assert (update.changed, update.remark) == ({}, None)


def test_values_are_trimmed_and_the_last_of_two_counts() -> None:
    update = DEFAULTS.update(b"enableTopicList=true\nenableTopicList= FALSE \n")
    assert update.changed == {"enableTopicList": ("true", "false")}


def test_unknown_keys_of_the_file_stay_unchanged() -> None:
    settings = Settings.build([from_file("foo=bar\n", name="f")])
    update = settings.update(b"foo=other\nenableTopicList=false")
    assert "\nfoo=bar\n" in update.settings.text()
    assert update.not_applied == [("foo", "no such setting")]


RUNTIME = [setting.key for setting in SETTINGS if setting.how is How.RUNTIME]


def test_run_time_settings_take_effect_at_once() -> None:
    for key in RUNTIME:
        before = DEFAULTS.values[key]
        value = str(not before).lower() if isinstance(before, bool) else "7"
        update = DEFAULTS.update(f"{key}={value}".encode())
        assert update.remark is None
        assert attributes(update.settings) != attributes(DEFAULTS), key
        assert f"{key}={value}\n" in update.settings.text()


@given(st.binary(max_size=60))
def test_any_bytes_are_applied_or_rejected(data: bytes) -> None:
    try:
        update = DEFAULTS.update(data)
    except (BadRequest, Denied):
        return
    assert (update.remark is None) == (not update.not_applied)


def attributes(settings: Settings) -> dict[str, object]:
    """What the program reads of the settings."""
    ignored = {"values", "origins"}
    return {name: value for name, value in vars(settings).items() if name not in ignored}


def body(name: str, part: str) -> bytes:
    """The body of a captured request or answer."""
    for line in GOLDEN.read_text().splitlines():
        vector = json.loads(line)
        if vector["name"] == name:
            frame = bytes.fromhex(vector[part])
            return frame[8 + int.from_bytes(frame[5:8], "big") :]
    raise LookupError(name)
