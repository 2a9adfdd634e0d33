"""Requests about settings: 318, 319."""

from routebook.effects import SaveSettings
from routebook.events import SettingChanged
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import DONE, Caller, Outcome
from routebook.wire.command import Command, Reply


def update_namesrv_config(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """318. Applies the settings that can change at run time; the remark lists the others."""
    if command.body is None:
        return DONE
    update = ns.settings.update(command.body)
    reply = Reply(remark=update.remark)
    if not update.changed:
        return Outcome(reply)
    ns.settings = update.settings
    ns.settings_revision += 1
    events = tuple(
        SettingChanged(key=key, before=before, after=after) for key, (before, after) in update.changed.items()
    )
    return Outcome(reply, events, (SaveSettings({key: after for key, (_, after) in update.changed.items()}),))


def get_namesrv_config(ns: NameServer, _command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """319. All settings that Java shows."""
    return Outcome(Reply(body=ns.settings.text().encode()))
