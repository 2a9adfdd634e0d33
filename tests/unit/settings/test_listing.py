"""The listing that `-p` prints, and docs/settings.md, which is generated from the same table."""

from pathlib import Path

from routebook.settings import SETTINGS, Settings, from_file, from_values, listing
from tools.settings_page import markdown

DOCUMENT = Path(__file__).parents[3] / "docs" / "settings.md"


def test_the_document_is_up_to_date() -> None:
    # to update it: python -m tools.settings_page > docs/settings.md
    assert DOCUMENT.read_text(encoding="utf-8") == markdown()


def test_the_document_names_every_setting_with_its_variable() -> None:
    for setting in SETTINGS:
        assert f"| `{setting.key}` | `{setting.env}` |" in markdown()


def test_the_listing_has_every_setting_once_in_order() -> None:
    keys = [line.partition("=")[0] for line in listing(Settings.build()) if not line.startswith("#")]
    assert keys == [setting.key for setting in SETTINGS]
    assert keys[:3] == ["rocketmqHome", "kvConfigPath", "configStorePath"]


def test_the_listing_names_the_origin_of_a_value() -> None:
    lines = list(listing(Settings.build([from_file("\nlistenPort=7\nfoo=bar", name="f")])))
    at = lines.index("listenPort=7")
    assert lines[at - 1] == "# f:2"
    assert lines[at + 1] == "# default"
    assert lines[-1] == "foo=bar"


def test_the_listing_hides_secrets() -> None:
    lines = list(listing(Settings.build([from_values({"routebook.tls.keyPassword": "s3cret"})])))
    assert "routebook.tls.keyPassword=***" in lines
    assert not any("s3cret" in line for line in lines)
