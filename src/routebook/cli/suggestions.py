"""Suggestions for unknown names: topics and brokers of a NameServer, and mqadmin's commands."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

MQADMIN: Final = {
    "topicRoute": "route TOPIC",
    "topicList": "topics",
    "topicClusterList": "route TOPIC",
    "topicStatus": "route TOPIC",
    "clusterList": "brokers",
    "brokerStatus": "brokers BROKER",
    "updateKvConfig": "kv put NAMESPACE KEY VALUE",
    "deleteKvConfig": "kv delete NAMESPACE KEY",
    "updateOrderConf": "topic order TOPIC CONFIG",
    "wipeWritePerm": "broker wipe BROKER",
    "addWritePerm": "broker restore BROKER",
    "deleteTopic": "topic delete TOPIC",
    "updateTopic": "topic register TOPIC --broker BROKER",
    "getNamesrvConfig": "config get",
    "updateNamesrvConfig": "config set KEY=VALUE",
}
_MAX_SHOWN: Final = 3


def mqadmin_hint(name: str) -> str | None:
    """Return the command that does what a command of mqadmin does; None if there is none."""
    known = {command.lower(): routebook for command, routebook in MQADMIN.items()}
    found = known.get(name.lower())
    return None if found is None else f"mqadmin's {name} is: routebook {found}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean a, b?` for names similar to an unknown one, or an empty text."""
    lowered = {one.lower(): one for one in known}
    near = [lowered[one] for one in get_close_matches(name.lower(), lowered, n=_MAX_SHOWN)]
    near += [one for key, one in sorted(lowered.items()) if name.lower() in key and one not in near]
    return f"; did you mean {', '.join(near[:_MAX_SHOWN])}?" if near else ""
