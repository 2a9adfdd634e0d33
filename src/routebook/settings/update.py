"""318: what a request to change settings comes to.

All or nothing for what must not be touched over the wire (CVE-2023-37582): one such key refuses the whole request.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from routebook import properties
from routebook.errors import BadRequest, Denied
from routebook.settings.build import nearest
from routebook.settings.table import BY_KEY, How, Value, show

_MAX_BODY_BYTES: Final = 256 << 10
_MAX_NAMED: Final = 10
_MAX_SHOWN: Final = 80


class _NotTaken(Exception):
    """Why a key of the request stays as it is."""


class Plan(msgspec.Struct, frozen=True):
    """What would change, and what was asked for and is not taken, with why."""

    changed: dict[str, Value]
    not_taken: list[tuple[str, str]]


def plan(body: bytes, *, values: Mapping[str, Value], black_list: frozenset[str]) -> Plan:
    """Decide about a 318 body, without doing anything yet."""
    if len(body) > _MAX_BODY_BYTES:
        raise BadRequest(f"string2Properties error: more than {_MAX_BODY_BYTES} bytes")
    try:
        asked = {entry.key: entry.value for entry in properties.parse(properties.decode_wire(body))}
    except properties.MalformedEscape:
        raise BadRequest("string2Properties error") from None
    if any(_is_denied(key, black_list) for key in asked):
        raise Denied("Can not update config in black list.")
    changed: dict[str, Value] = {}
    not_taken: list[tuple[str, str]] = []
    for key, text in asked.items():
        try:
            value = _value(key, text, guess=len(not_taken) < _MAX_NAMED)
        except _NotTaken as why:
            not_taken.append((key, str(why)))
            continue
        if value != values[key]:
            changed[key] = value
    return Plan(changed, not_taken)


def remark(not_taken: list[tuple[str, str]]) -> str | None:
    """What the answer says about it; nothing where all was taken."""
    if not not_taken:
        return None
    named = "; ".join(f"{_short(key)}: {why}" for key, why in not_taken[:_MAX_NAMED])
    more = f"; and {len(not_taken) - _MAX_NAMED} more" if len(not_taken) > _MAX_NAMED else ""
    return f"not taken: {named}{more}"


def black_list_of(configured: str) -> frozenset[str]:
    """The keys of `configBlackList`."""
    return frozenset(key.strip() for key in configured.split(";") if key.strip())


def _is_denied(key: str, black_list: frozenset[str]) -> bool:
    """Java's list, and with it every path, address and port, and all that is Routebook's."""
    if key in black_list or key.startswith("routebook."):
        return True
    setting = BY_KEY.get(key)
    return setting is not None and setting.how is How.FIXED


def _value(key: str, text: str, *, guess: bool) -> Value:
    setting = BY_KEY.get(key)
    if setting is None:
        meant = nearest(key, BY_KEY) if guess else None
        raise _NotTaken("no such setting" + (f", did you mean {meant}?" if meant is not None else ""))
    if setting.how is How.UNUSED:
        raise _NotTaken(f"has no effect here ({setting.note})")
    if setting.how is How.RESTART:
        raise _NotTaken("needs a restart: put it into the settings file and start again")
    try:
        return setting.parse(text)
    except ValueError as error:
        raise _NotTaken(f"{_short(text)} is not {error}") from None


def _short(text: str) -> str:
    shown = text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
    return shown if shown.isprintable() and shown else ascii(shown)


def shown(plan_: Plan, values: Mapping[str, Value]) -> dict[str, tuple[str, str]]:
    """What changes, as text before and after."""
    return {key: (show(values[key]), show(value)) for key, value in plan_.changed.items()}
