"""Admin changes as requests of the remoting protocol: plan what a request changes, then apply it.

Uses the handlers, permissions and journal of the NameServer port.
"""

import asyncio
from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

import msgspec

from routebook.access.classes import NEEDED, Access
from routebook.access.decision import decide
from routebook.codes import PERM_READ, PERM_WRITE, RequestCode, ResponseCode
from routebook.errors import BadRequest, Denied
from routebook.handlers import Caller as RemotingCaller
from routebook.handlers import NameServer, dispatch
from routebook.handlers.targets import target_of
from routebook.model import QueueData
from routebook.properties import edit
from routebook.routes.topics import brokers_with
from routebook.server.http.api.login import HOW_TO_ENABLE
from routebook.server.http.api.parameters import find_group
from routebook.server.http.auth.authenticate import Caller
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import ApiError
from routebook.wire.command import Command, Reply

_MAX_SHOWN: Final = 100


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One changed value, before and after; null if it does not exist."""

    what: str
    before: str | None
    after: str | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A remoting request, and what it would change now."""

    action: str
    code: RequestCode
    fields: dict[str, str | None] = {}
    body: bytes | None = None
    changes: list[Change]
    notes: list[str] = []


class AdminAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The first 100 of `total` changes, applied or planned. `seq` is the sequence number of the journal record."""

    action: str
    dry_run: bool
    done: bool
    changes: list[Change]
    total: int
    notes: list[str]
    seq: int | None


def kv_put(ns: NameServer, *, namespace: str, key: str, value: str) -> Plan:
    fields: dict[str, str | None] = {"namespace": namespace, "key": key, "value": value}
    before = ns.kv.get(namespace, key)
    changes = [] if before == value else [Change(what=f"KV {namespace} / {key}", before=before, after=value)]
    return Plan(action="put KV entry", code=RequestCode.PUT_KV_CONFIG, fields=fields, changes=changes)


def kv_delete(ns: NameServer, *, namespace: str, key: str) -> Plan:
    fields: dict[str, str | None] = {"namespace": namespace, "key": key}
    changes = []
    if key in (ns.kv.list(namespace) or {}):
        changes.append(Change(what=f"KV {namespace} / {key}", before=ns.kv.get(namespace, key) or "", after=None))
    return Plan(action="delete KV entry", code=RequestCode.DELETE_KV_CONFIG, fields=fields, changes=changes)


def settings_update(ns: NameServer, values: dict[str, str]) -> Plan:
    body = edit("", values).encode()  # escaped: a value cannot inject another key
    changes: list[Change] = []
    try:
        update = ns.settings.update(body)
        changes = [Change(what=key, before=before, after=after) for key, (before, after) in update.changed.items()]
        note = update.remark
    except (Denied, BadRequest) as problem:
        note = problem.remark or "rejected"
    return Plan(
        action="change settings",
        code=RequestCode.UPDATE_NAMESRV_CONFIG,
        body=body,
        changes=changes,
        notes=[note] if note else [],
    )


def write_permission(ns: NameServer, *, broker: str, restore: bool) -> Plan:
    find_group(ns, broker)
    changes = []
    without_writes = 0
    for topic, entry in ns.routes.topic_table.items():
        queue = entry.queues.get(broker)
        if queue is not None:
            after = PERM_READ | PERM_WRITE if restore else queue.perm & ~PERM_WRITE
            if after != queue.perm:
                without_writes += not restore and not _has_other_writer(entry.queues, broker)
                changes.append(Change(what=f"topic {topic}", before=_permission(queue.perm), after=_permission(after)))
    return Plan(
        action="restore write permission" if restore else "wipe write permission",
        code=RequestCode.ADD_WRITE_PERM_OF_BROKER if restore else RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        fields={"brokerName": broker},
        changes=sorted(changes, key=lambda change: change.what),
        notes=[*_write_scope(ns, broker, without_writes, restore=restore)],
    )


def _has_other_writer(queues: Mapping[str, QueueData], broker: str) -> bool:
    return any(other.perm & PERM_WRITE for name, other in queues.items() if name != broker)


def _write_scope(ns: NameServer, broker: str, without_writes: int, *, restore: bool) -> Iterator[str]:
    """What the change covers: which NameServers, for how long, and topics that lose their last writable broker."""
    if without_writes:
        yield f"{without_writes} of these topics have no other writable broker: producers of them fail"
    peers = [peer.partition("/")[0] for peer in ns.settings.peers]
    if peers:
        verb = "restore" if restore else "wipe"
        yield (
            f"applies to this NameServer only; {', '.join(peers)} {'keeps' if len(peers) == 1 else 'keep'} the current "
            f"permissions: routebook broker {verb} {broker} -n LIST changes all NameServers of the list"
        )
    if not restore:
        yield "lasts until it is restored, or until the broker registers a newer topic configuration"


def topic_delete(ns: NameServer, *, topic: str, cluster: str | None) -> Plan:
    within = None if cluster is None else ns.routes.cluster_table.get(cluster, {})
    brokers = [name for name in brokers_with(ns.routes, topic) if within is None or name in within]
    queues = ns.routes.queues(topic) or {}
    return Plan(
        action="delete topic",
        code=RequestCode.DELETE_TOPIC_IN_NAMESRV,
        fields={"topic": topic, **({"clusterName": cluster} if cluster is not None else {})},
        changes=[
            Change(what=f"topic {topic} on {name}", before=_queues(queues.get(name)), after=None) for name in brokers
        ],
        notes=["a broker that still has the topic adds it again with its next registration"] if brokers else [],
    )


async def apply(context: HttpContext, caller: Caller, plan: Plan, *, dry_run: bool) -> AdminAnswer:
    """Apply a plan unless it is a dry run; returns once the change is on disk. Raises ApiError."""
    command = Command(code=plan.code, opaque=0, ext=plan.fields, body=plan.body)
    check_admin(context, caller, command)
    seq: int | None = None
    if not dry_run:
        seq, reply = await _execute(context, caller, command)
        if reply.code == ResponseCode.NO_PERMISSION:
            raise ApiError(403, reply.remark or "rejected", "/v1/settings shows what can change", code="denied")
        if reply.code != ResponseCode.SUCCESS:
            raise ApiError(500, reply.remark or "the request failed", "see the server's log", code="failed")
    return AdminAnswer(
        action=plan.action,
        dry_run=dry_run,
        done=not dry_run and bool(plan.changes),
        changes=plan.changes[:_MAX_SHOWN],
        total=len(plan.changes),
        notes=plan.notes,
        seq=seq,
    )


def check_admin(context: HttpContext, caller: Caller, command: Command | None = None) -> None:
    """Reject and journal a caller that may not write, or not this target. Raises ApiError."""
    if context.access is None:
        raise ApiError(403, "authentication is off", HOW_TO_ENABLE, code="authentication-off")
    identity = caller.identity
    if identity is None:
        raise ApiError(401, "not logged in", "POST /v1/session, or open /admin in a browser", code="login-required")
    reason = f"{identity.name} has no {Access.ADMIN_WRITE}" if not identity.may(Access.ADMIN_WRITE) else None
    if reason is None and command is not None:
        target = target_of(context.nameserver, command)
        reason = decide(identity, NEEDED.get(command.code, ()), host=caller.host, target=target)
    if reason is not None:
        deny(context, caller, 0 if command is None else command.code, reason)


def deny(context: HttpContext, caller: Caller, code: int, reason: str) -> NoReturn:
    """Journal a denial and raise ApiError."""
    if context.denials is not None:
        who = None if caller.identity is None else caller.identity.name
        context.denials.denied(code=code, why=reason, peer=caller.address, who=who)
    raise ApiError(403, reason, "log in with an identity that has the permission", code="not-admin")


async def _execute(context: HttpContext, caller: Caller, command: Command) -> tuple[int | None, Reply]:
    if context.effects is None:
        raise ApiError(503, "this server does not accept changes", "the server has no recorder")
    remoting_caller = RemotingCaller(0, caller.address, identity=caller.identity)
    outcome = dispatch(context.nameserver, command, remoting_caller, context.now_ms())
    replied: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def send(reply: Reply) -> None:
        if not replied.done():
            replied.set_result(reply)

    applied = context.effects.apply(outcome, caller=remoting_caller, code=command.code, answer=send)
    if not applied.is_deferred:
        send(outcome.reply or Reply())
    return applied.seq or None, await replied


def _permission(perm: int) -> str:
    words = [word for bit, word in ((PERM_READ, "read"), (PERM_WRITE, "write")) if perm & bit]
    return f"{' and '.join(words) or 'none'} ({perm})"


def _queues(queue: QueueData | None) -> str:
    if queue is None:
        return "a static mapping"
    return f"{queue.read_queue_nums} read queues, {queue.write_queue_nums} write queues"
