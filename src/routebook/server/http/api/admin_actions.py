"""From an administrator's wish to a request of the NameServer's own protocol: what it would change, and doing it.

Handlers, rules and journal are those of the remoting port; only the way in is another.
"""

import asyncio
from typing import Final

import msgspec

from routebook.access.classes import Access
from routebook.access.decision import decide
from routebook.codes import PERM_READ, PERM_WRITE, RequestCode, ResponseCode
from routebook.errors import BadRequest, Denied
from routebook.handlers import Caller as Asker
from routebook.handlers import NameServer, dispatch
from routebook.handlers.targets import target_of
from routebook.model import QueueData
from routebook.properties import edit
from routebook.routes.topics import brokers_with
from routebook.server.http.api.login import HOW
from routebook.server.http.auth.callers import Caller
from routebook.server.http.context import HttpContext
from routebook.server.http.errors import Refusal
from routebook.wire.command import Command, Reply

_MOST_SHOWN: Final = 100


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One thing, before and after; null where there is none."""

    what: str
    before: str | None
    after: str | None


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A request, and what it would change now."""

    action: str
    code: RequestCode
    fields: dict[str, str | None] = {}
    body: bytes | None = None
    changes: list[Change]
    notes: list[str] = []


class AdminAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was changed, or would be: the first hundred of `total`. `seq` is the number of its record."""

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
    there = key in (ns.kv.list(namespace) or {})
    changes = [Change(what=f"KV {namespace} / {key}", before=ns.kv.get(namespace, key) or "", after=None)]
    return Plan(
        action="delete KV entry", code=RequestCode.DELETE_KV_CONFIG, fields=fields, changes=changes if there else []
    )


def settings_update(ns: NameServer, values: dict[str, str]) -> Plan:
    body = edit("", values).encode()  # escaped, so that no value can pass for another key
    try:
        update = ns.settings.update(body)
    except (Denied, BadRequest) as problem:
        return Plan(
            action="change settings",
            code=RequestCode.UPDATE_NAMESRV_CONFIG,
            body=body,
            changes=[],
            notes=[problem.remark or "refused"],
        )
    return Plan(
        action="change settings",
        code=RequestCode.UPDATE_NAMESRV_CONFIG,
        body=body,
        changes=[Change(what=key, before=before, after=after) for key, (before, after) in update.changed.items()],
        notes=[update.remark] if update.remark else [],
    )


def write_permission(ns: NameServer, broker: str, *, restore: bool) -> Plan:
    if ns.routes.group(broker) is None:
        raise Refusal(404, "there is no broker of this name now", "/v1/brokers lists those there are")
    changes = []
    for topic, entry in ns.routes.topic_table.items():
        queue = entry.queues.get(broker)
        if queue is not None:
            after = PERM_READ | PERM_WRITE if restore else queue.perm & ~PERM_WRITE
            if after != queue.perm:
                changes.append(Change(what=f"topic {topic}", before=_permission(queue.perm), after=_permission(after)))
    lasts = "this lasts until the broker registers a newer topic table, which brings its own permissions"
    return Plan(
        action="restore write permission" if restore else "wipe write permission",
        code=RequestCode.ADD_WRITE_PERM_OF_BROKER if restore else RequestCode.WIPE_WRITE_PERM_OF_BROKER,
        fields={"brokerName": broker},
        changes=sorted(changes, key=lambda change: change.what),
        notes=[lasts],
    )


def topic_delete(ns: NameServer, topic: str, *, cluster: str | None) -> Plan:
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
        notes=["a broker that still has the topic brings it back with its next registration"] if brokers else [],
    )


async def carry_out(context: HttpContext, caller: Caller, plan: Plan, *, dry_run: bool) -> AdminAnswer:
    """Do it, unless it is a dry run: acknowledged once it is on disk. Raises Refusal. No await before it is done."""
    command = Command(code=plan.code, opaque=0, ext=plan.fields, body=plan.body)
    check_admin(context, caller, command)
    seq: int | None = None
    notes = plan.notes
    if not dry_run:
        seq, reply = await _do(context, caller, command)
        if reply.code == ResponseCode.NO_PERMISSION:
            raise Refusal(403, reply.remark or "refused", "/v1/settings says what can change how", code="denied")
        if reply.code != ResponseCode.SUCCESS:
            raise Refusal(500, reply.remark or "it failed", "the server's log has more", code="failed")
    return AdminAnswer(
        action=plan.action,
        dry_run=dry_run,
        done=not dry_run and bool(plan.changes),
        changes=plan.changes[:_MOST_SHOWN],
        total=len(plan.changes),
        notes=notes,
        seq=seq,
    )


def check_admin(context: HttpContext, caller: Caller, command: Command | None = None) -> None:
    """Refuse whoever is no administrator, or not one of what this changes; that is journalled."""
    if context.access is None:
        raise Refusal(403, "there is no administrator here", HOW, code="authentication-off")
    identity = caller.identity
    if identity is None:
        raise Refusal(401, "log in first", "POST /v1/session, or /admin in a browser", code="login-required")
    wrong = f"{identity.name} has no {Access.ADMIN_WRITE}" if not identity.may(Access.ADMIN_WRITE) else None
    if wrong is None and command is not None:
        target = target_of(context.nameserver, command)
        wrong = decide(identity, command.code, host=caller.host, target=target)
    if wrong is not None:
        if context.denials is not None:
            code = 0 if command is None else command.code
            context.denials.denied(code=code, why=wrong, peer=caller.address, who=identity.name)
        raise Refusal(403, wrong, "log in as somebody who may", code="not-admin")


async def _do(context: HttpContext, caller: Caller, command: Command) -> tuple[int | None, Reply]:
    recorder, performer = context.recorder, context.performer
    if recorder is None or performer is None:
        raise Refusal(503, "nothing can be changed here", "the server has no recorder")
    asker = Asker(0, caller.address, identity=caller.identity)
    outcome = dispatch(context.nameserver, command, asker, context.now_ms())
    seq = 0
    if outcome.events:
        who = None if caller.identity is None else caller.identity.name
        seq = recorder.record(outcome.events, at_ms=context.wall_ms(), peer=caller.address, code=command.code, who=who)
    answered: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def answer(reply: Reply) -> None:
        if not answered.done():
            answered.set_result(reply)

    durable = seq if recorder.journal is not None else 0
    if not performer.perform(outcome, answer, durable=durable):
        answer(outcome.reply or Reply())
    return seq or None, await answered


def _permission(perm: int) -> str:
    words = [word for bit, word in ((PERM_READ, "read"), (PERM_WRITE, "write")) if perm & bit]
    return f"{' and '.join(words) or 'none'} ({perm})"


def _queues(queue: QueueData | None) -> str:
    if queue is None:
        return "a static mapping"
    return f"{queue.read_queue_nums} read queues, {queue.write_queue_nums} write queues"
