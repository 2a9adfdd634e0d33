"""Requests about KV configuration: 100, 101, 102, 219."""

from routebook.effects import SaveKv
from routebook.errors import BadRequest, NotFound, TooMuch
from routebook.events import KvChanged
from routebook.handlers.names import check_length
from routebook.handlers.nameserver import NameServer
from routebook.handlers.outcome import DONE, OK, Caller, Outcome
from routebook.wire.bodies import encode_kv_table
from routebook.wire.command import Command, Reply


def put_kv_config(ns: NameServer, command: Command, caller: Caller, _now_ms: int) -> Outcome:
    """100. A null value is stored, and never returned."""
    namespace, key = command.field("namespace"), command.field("key")
    if namespace is None or key is None:
        raise BadRequest("namespace or key is null")
    for name, what in ((namespace, "namespace"), (key, "key")):
        check_length(name, what, max_length=ns.settings.name_length)
    value = command.field("value")
    ns.totals.check_kv(ns, caller, namespace, key, value)
    ns.totals.put_kv(ns, caller, namespace, key, value)
    return _saved(ns.kv.put(namespace, key, value))


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
    ns.totals.delete_kv(ns, namespace, key)
    return _saved(ns.kv.delete(namespace, key))


def get_kvlist_by_namespace(ns: NameServer, command: Command, _caller: Caller, _now_ms: int) -> Outcome:
    """219. All values of a namespace; one without keys still exists."""
    namespace = command.field("namespace")
    table = None if namespace is None else ns.kv.list(namespace)
    if table is None:
        raise NotFound(f"No config item, Namespace: {_printed(namespace)}")
    body = encoded_namespace(ns, namespace or "")
    if body is None:
        size = ns.kv.namespace_size(namespace or "")
        raise TooMuch(f"namespace {namespace} has {size} bytes, which do not fit into an answer", limit="frame_bytes")
    return Outcome(Reply(body=body))


def encoded_namespace(ns: NameServer, namespace: str) -> bytes | None:
    """The body of 219, encoded once per change; None if the namespace is missing or does not fit into a frame."""
    table = ns.kv.list(namespace)
    if table is None or ns.kv.namespace_size(namespace) > ns.settings.limits.frame_bytes:
        return None
    return ns.lists.get((219, namespace), ns.kv.namespace_revision(namespace), lambda: encode_kv_table(table))


def _saved(events: tuple[KvChanged, ...]) -> Outcome:
    return Outcome(OK, events, (SaveKv(),)) if events else DONE


def _printed(text: str | None) -> str:
    return "null" if text is None else text
