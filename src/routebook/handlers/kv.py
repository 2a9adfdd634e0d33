"""Requests about KV configuration: 100, 101, 102, 219."""

from routebook.effects import SaveKv
from routebook.errors import BadRequest, NotFound
from routebook.events import KvChanged
from routebook.handlers.names import check_length
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import DONE, OK, Caller, Outcome
from routebook.wire.bodies import encode_kv_table
from routebook.wire.command import Command, Reply


def put_kv_config(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """100. A null value is stored, and never returned."""
    namespace, key = command.field("namespace"), command.field("key")
    if namespace is None or key is None:
        raise BadRequest("namespace or key is null")
    for name, what in ((namespace, "namespace"), (key, "key")):
        check_length(name, what, max_length=ns.settings.name_length)
    return _saved(ns, ns.kv.put(namespace, key, command.field("value")))


def get_kv_config(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """101. One value."""
    namespace, key = command.field("namespace"), command.field("key")
    value = None if namespace is None or key is None else ns.kv.get(namespace, key)
    if value is None:
        missing = f"No config item, Namespace: {_printed(namespace)} Key: {_printed(key)}"
        raise NotFound(missing, with_header=True)
    return Outcome(Reply(ext={"value": value}))


def delete_kv_config(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """102. Deleting a missing key succeeds."""
    namespace, key = command.field("namespace"), command.field("key")
    if namespace is None or key is None:
        return DONE
    return _saved(ns, ns.kv.delete(namespace, key))


def get_kvlist_by_namespace(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """219. All values of a namespace; one without keys still exists."""
    namespace = command.field("namespace")
    table = None if namespace is None else ns.kv.list(namespace)
    if table is None:
        raise NotFound(f"No config item, Namespace: {_printed(namespace)}")
    return Outcome(Reply(body=encode_kv_table(table)))


def _saved(ns: NameServer, events: tuple[KvChanged, ...]) -> Outcome:
    return Outcome(OK, events, (SaveKv(ns.kv.encode()),)) if events else DONE


def _printed(text: str | None) -> str:
    return "null" if text is None else text
