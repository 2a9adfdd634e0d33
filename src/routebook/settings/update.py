"""318: decides about a request to change settings.

One key that must not be changed over the wire (CVE-2023-37582) makes the whole request fail.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from routebook import properties
from routebook.errors import BadRequest, Denied
from routebook.settings.build import nearest
from routebook.settings.setting import How, show
from routebook.settings.table import BY_KEY
from routebook.settings.types import Value

_MAX_BODY_BYTES: Final = 256 << 10
_MAX_NAMED: Final = 10
_MAX_SHOWN: Final = 80


class _NotApplied(Exception):
    """The reason why a key of the request is not applied."""


class Plan(msgspec.Struct, frozen=True):
    """The changes, and the keys that are not applied, with the reason."""

    changed: dict[str, Value]
    not_applied: list[tuple[str, str]]


def plan(body: bytes, *, values: Mapping[str, Value], black_list: frozenset[str]) -> Plan:
    """Decide about the body of a 318."""
    if len(body) > _MAX_BODY_BYTES:
        raise BadRequest(f"string2Properties error: more than {_MAX_BODY_BYTES} bytes")
    try:
        requested = {entry.key: entry.value for entry in properties.parse(properties.decode_wire(body))}
    except properties.MalformedEscape:
        raise BadRequest("string2Properties error") from None
    if any(_is_denied(key, black_list) for key in requested):
        raise Denied("Can not update config in black list.")
    changed: dict[str, Value] = {}
    not_applied: list[tuple[str, str]] = []
    for key, text in requested.items():
        try:
            value = _value(key, text, guess=len(not_applied) < _MAX_NAMED)
        except _NotApplied as why:
            not_applied.append((key, str(why)))
            continue
        if value != values[key]:
            changed[key] = value
    return Plan(changed, not_applied)


def remark(not_applied: list[tuple[str, str]]) -> str | None:
    """The remark of the reply; None if all keys are applied."""
    if not not_applied:
        return None
    named = "; ".join(f"{_short(key)}: {why}" for key, why in not_applied[:_MAX_NAMED])
    more = f"; and {len(not_applied) - _MAX_NAMED} more" if len(not_applied) > _MAX_NAMED else ""
    return f"not applied: {named}{more}"


def black_list_of(configured: str) -> frozenset[str]:
    """The keys of `configBlackList`."""
    return frozenset(key.strip() for key in configured.split(";") if key.strip())


def _is_denied(key: str, black_list: frozenset[str]) -> bool:
    """Whether a key is on Java's list, or is a path, an address, a port or one of Routebook's keys."""
    if key in black_list or key.startswith("routebook."):
        return True
    setting = BY_KEY.get(key)
    return setting is not None and setting.how is How.FIXED


def _value(key: str, text: str, *, guess: bool) -> Value:
    setting = BY_KEY.get(key)
    if setting is None:
        similar = nearest(key, BY_KEY) if guess else None
        raise _NotApplied("no such setting" + (f", did you mean {similar}?" if similar is not None else ""))
    if setting.how is How.UNUSED:
        raise _NotApplied(f"has no effect ({setting.note})")
    if setting.how is How.RESTART:
        raise _NotApplied("needs a restart: change it in the settings file and restart")
    try:
        return setting.parse(text)
    except ValueError as error:
        raise _NotApplied(f"{_short(text)} is not {error}") from None


def _short(text: str) -> str:
    shown = text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
    return shown if shown.isprintable() and shown else ascii(shown)


def shown(plan_: Plan, values: Mapping[str, Value]) -> dict[str, tuple[str, str]]:
    """The changes as text, before and after."""
    return {key: (show(values[key]), show(value)) for key, value in plan_.changed.items()}
