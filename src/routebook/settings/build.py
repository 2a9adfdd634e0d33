"""Combines the sources into one value per setting, or raises a SettingsError that names the line to correct.

Java silently ignores invalid values and unknown keys. Here an invalid value and an unknown Routebook key prevent the
start; an unknown Java key is kept, with a warning.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from routebook.errors import SettingsError
from routebook.settings.controller_settings import CONTROLLER_DEFAULTS
from routebook.settings.java_settings import JAVA_CLIENT_TLS_KEYS, JAVA_OPTIONS
from routebook.settings.setting import Group, Setting, show
from routebook.settings.sources import Given, Kind, Source
from routebook.settings.table import BY_ENV, BY_KEY, LISTEN, LISTEN_ENV, SETTINGS
from routebook.settings.types import Value

_SHOWN_BY_319: Final = (Group.NAMESRV, Group.SERVER)


class Built(msgspec.Struct, frozen=True):
    """One value per setting, the origin of each, and warnings."""

    values: dict[str, Value]
    origins: dict[str, str]  # of values that are not defaults
    foreign: dict[str, str]  # unknown keys of the file, which 319 shows
    warnings: tuple[str, ...]


def build(sources: Iterable[Source], *, home: str, file: str | None, is_controller: bool = False) -> Built:
    """Combine the sources; later ones override earlier ones. `home` is the home folder, `file` the argument of `-c`.

    `is_controller`: the process runs a Controller, even if enableControllerInNamesrv is false.
    """
    values: dict[str, Value] = {setting.key: setting.default for setting in SETTINGS}
    values["rocketmqHome"] = home
    values["kvConfigPath"] = f"{home}/kvConfig.json"
    values["configStorePath"] = file if file is not None else f"{home}/namesrv.properties"
    origins: dict[str, str] = {}
    foreign: dict[str, str] = {}
    warnings: list[str] = []
    controller_keys: list[Given] = []
    for source in sources:
        warnings += source.warnings
        for given in _expanded(source.given):
            setting = BY_KEY.get(given.key)
            if setting is None and given.key in CONTROLLER_DEFAULTS:
                controller_keys.append(given)
                foreign[given.key] = given.value
                continue
            if setting is None:
                warnings.append(_unknown(given, source.kind))
                foreign[given.key] = given.value
                continue
            value = _parsed(setting, given)
            if source.kind is Kind.FILE and setting.group is Group.CLIENT:
                foreign[given.key] = given.value  # Java: shows these only if they are in the file
            if source.kind is Kind.FILE and file is not None and setting.key == "configStorePath":
                continue  # Java: NamesrvStartup, 318 saves to the -c file, even if that names another one
            values[given.key], origins[given.key] = value, given.origin
    _check(values, origins)
    if not (is_controller or values["enableControllerInNamesrv"]):
        warnings += [
            f"{given.origin}: {given.key} has no effect: enableControllerInNamesrv is false"
            for given in controller_keys
        ]
    warnings += _questionable(values)
    return Built(values, origins, foreign, tuple(warnings))


def last_given(sources: Sequence[Source], key: str) -> Given | None:
    """The effective entry for one key."""
    found = [given for source in sources for given in source.given if given.key == key]
    return found[-1] if found else None


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that is most similar to `name`."""
    if len(name) > 100:
        return None
    known = {known.lower(): known for known in names}
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    return known[close[0]] if close else None


def split_address(text: str) -> tuple[str, str]:
    """Split HOST:PORT, or [HOST]:PORT for IPv6. A ValueError describes the problem."""
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("an IPv6 address needs brackets, as in [::1]:9876")
    if not (host and colon and port.isascii() and port.isdigit() and int(port) < 65536):
        raise ValueError("not HOST:PORT with a port from 0 to 65535, as in 127.0.0.1:9876")
    return host, port


def shown_by_319(values: Mapping[str, Value], foreign: Mapping[str, str]) -> dict[str, str]:
    """The settings that 319 prints: Java's server settings and unknown keys of the file; none of Routebook's."""
    own = {setting.key: show(values[setting.key]) for setting in SETTINGS if setting.group in _SHOWN_BY_319}
    return {**foreign, **own}


def _expanded(given: Iterable[Given]) -> Iterator[Given]:
    for one in given:
        if one.key != LISTEN:
            yield one
            continue
        try:
            host, port = split_address(one.value)
        except ValueError as error:
            raise SettingsError(f"{one.origin}: {_quoted(one.value)}: {error}") from None
        yield Given("bindAddress", host, one.origin)
        yield Given("listenPort", port, one.origin)


def _parsed(setting: Setting, given: Given) -> Value:
    try:
        return setting.parse(given.value)
    except ValueError as error:
        shown = "***" if setting.is_secret else _quoted(given.value)
        raise SettingsError(f"{given.origin}: {given.key}={shown} is not {error}") from None


def _unknown(given: Given, kind: Kind) -> str:
    """The warning for an unknown Java key; any other unknown key raises a SettingsError."""
    if kind is Kind.ENVIRONMENT:
        similar = nearest(given.key, (*BY_ENV, LISTEN_ENV))
        raise SettingsError(f"environment: {given.key} is not a setting{_suggestion(similar)}")
    similar = nearest(given.key, (*BY_KEY, *JAVA_OPTIONS, LISTEN))
    if given.key.startswith("routebook."):
        raise SettingsError(f"{given.origin}: {given.key} is not a setting{_suggestion(similar)}")
    if given.key in JAVA_CLIENT_TLS_KEYS:
        return f"{given.origin}: {given.key} has no effect: outbound connections are plain"
    if kind is Kind.OPTION:
        raise SettingsError(f"{given.origin}: {given.key} is not a setting{_suggestion(similar)}")
    if given.key in JAVA_OPTIONS:
        instead = JAVA_OPTIONS[given.key]
        return f"{given.origin}: {given.key} has no effect in this file, as in Java; use {instead}"
    return f"{given.origin}: {given.key} is not a setting and has no effect{_suggestion(similar)}"


def _check(values: Mapping[str, Value], origins: Mapping[str, str]) -> None:
    """Raise a SettingsError for invalid combinations."""
    if values["routebook.tls.mode"] == "disabled" or values["routebook.tls.testMode"]:
        return
    missing = [key for key in ("routebook.tls.keyPath", "routebook.tls.certPath") if not values[key]]
    if missing:
        raise SettingsError(
            f"{origins['routebook.tls.testMode']}: routebook.tls.testMode=false needs {' and '.join(missing)};"
            " or set routebook.tls.mode=disabled for no TLS at all"
        )
    if values["routebook.tls.needClientAuth"] == "require" and not values["routebook.tls.authClient"]:
        # Java: accepts any certificate, which proves nothing; Python's ssl cannot do that
        raise SettingsError(
            f"{origins['routebook.tls.needClientAuth']}: routebook.tls.needClientAuth=require needs"
            " routebook.tls.authClient=true and routebook.tls.trustCertPath to verify certificates;"
            " or set routebook.tls.needClientAuth=none"
        )


def _questionable(values: Mapping[str, Value]) -> Iterator[str]:
    """Warnings about valid combinations that are probably mistakes."""
    if (
        values["routebook.tls.testMode"]
        and values["routebook.tls.mode"] != "disabled"
        and values["routebook.tls.certPath"]
    ):
        yield (
            "routebook.tls.certPath is not used while routebook.tls.testMode=true: clients get a self-signed"
            " certificate; set routebook.tls.testMode=false (Java: tls.test.mode.enable)"
        )
    if values["clusterTest"] and not values["routebook.productNamesrvAddr"]:
        yield (
            "clusterTest=true, but the production environment is unknown: name its NameServers with -n or"
            " routebook.productNamesrvAddr"
        )


def _suggestion(similar: str | None) -> str:
    return f"; did you mean {similar}?" if similar is not None else ""


def _quoted(value: str) -> str:
    return repr(value[:100]) if value != value.strip() or not value.isprintable() or not value else value[:100]
