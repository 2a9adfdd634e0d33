"""All deliberate differences from Java, by name: the expected replies, and steps that would corrupt Java's tables.

A rule either excuses one pair of answers, or acts before a step that would leave Java's tables in a state that
Routebook avoids on purpose: the step is skipped, or followed by requests that bring Java back. Each rule names its
entry in docs/compatibility.md; examples.py has a run for each that shows the difference, and that the rule covers it.
"""

import re
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, TypeAlias

from tests.support.compare import free_of_order, parse_body, settings_text
from tests.support.differential.endpoint import Answer
from tests.support.differential.state import State
from tests.support.differential.steps import Ask, Drop, OddRegister, Raw, Register, Step
from tests.support.golden import LOCAL_KEYS

Question: TypeAlias = Ask | Register | OddRegister | Raw

RUN_TIME_SETTINGS: Final = frozenset(
    {
        "deleteTopicWithBrokerRegistration",
        "enableAllTopicList",
        "enableTopicList",
        "needWaitForService",
        "notifyMinBrokerIdChanged",
        "orderMessageEnable",
        "returnOrderTopicConfigToBroker",
        "supportActingMaster",
        "waitSecondsForService",
    }
)
_CONTROL: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]|\\[0-7abfnrtv]|\\u00[0189]|\\u007f|\\u202[89]|\\ud[89a-f]|\\x[01]"
)


@dataclass(frozen=True)
class Skip:
    """Skip this step: Java's tables would not recover from it."""


@dataclass(frozen=True)
class Repair:
    """Take the step, then send these requests to both servers; `gone`: only if that broker has lost that address."""

    requests: tuple[Ask, ...]
    gone: tuple[str, str] | None = None


Action: TypeAlias = Skip | Repair


@dataclass(frozen=True)
class Known:
    """One deliberate difference; `anchor` is its entry in docs/compatibility.md."""

    name: str
    _: KW_ONLY
    anchor: str
    guard: Callable[[Step, State], Action | None] = lambda _step, _state: None
    excuse: Callable[[Question, Answer, Answer, State], bool] = lambda _question, _java, _ours, _state: False


# --- registrations ----------------------------------------------------------------------------------------------------


def _names(question: Question) -> dict[str, str]:
    """The names in a registration or unregistration, without missing and empty ones."""
    fields = ("clusterName", "brokerName", "brokerAddr")
    if isinstance(question, Register):
        given = {"clusterName": question.cluster, "brokerName": question.broker, "brokerAddr": question.addr}
        return {key: value for key, value in given.items() if key not in question.without and value}
    ext = question.ext if isinstance(question, (Ask, OddRegister)) else None
    return {key: ext[key] for key in fields if ext and ext.get(key)}


def _names_missing_guard(step: Step, state: State) -> Action | None:
    # without brokerName Java puts a null into the cluster's set, without brokerAddr an id without address: for ever
    if isinstance(step, (Register, OddRegister)) and not {"brokerName", "brokerAddr"} <= _names(step).keys():
        return Skip()
    return None


def _names_missing(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    if isinstance(question, Raw) or _codes(java, ours) != (0, 1):
        return False
    if question.code == 217:
        remark = ours.replies[0].remark or ""
        return "topic is missing" in remark or "without brokerName" in remark
    return question.code == 103 and "clusterName" not in _names(question)


def _null_filter_server_guard(step: Step, state: State) -> Action | None:
    """Java keeps a filter server without a name and returns it as null."""
    return Skip() if isinstance(step, OddRegister) and b'"filterServerList":[null]' in step.body else None


def _ghost_guard(step: Step, state: State) -> Action | None:
    """Java changes its tables before it validates: a rejected registration leaves traces."""
    if not isinstance(step, Register) or len(_names(step)) < 3:
        return None
    group = state.groups.get(state.fill(step.broker))
    addr = state.fill(step.addr)
    members = group.members if group else {}
    elsewhere = any(held == addr and held_id != step.broker_id for held_id, held in members.items())
    holder = members.get(step.broker_id)
    unknown_id = holder is None
    if step.table is None and group is not None:
        return Skip()  # Java: an exception half-way where the id is new, half a registration where it is not
    if unknown_id and (step.table is None or len(step.table) == 1):
        if group is None:
            return Repair((_unregister(step),))
        touched = (group.acting, group.zone) != (step.acting, _filled_zone(step, state))
        return Skip() if touched or elsewhere else None
    if holder is not None and holder != addr:
        lease = state.leases.get((state.fill(step.cluster), holder))
        if lease is not None and lease.state_version > step.epoch and group is not None:
            touched = (group.acting, group.zone) != (step.acting, _filled_zone(step, state))
            return Skip() if touched or elsewhere else None
    return None


def _filled_zone(step: Register, state: State) -> str | None:
    zone = step.zone
    return None if zone is None or (step.binary and not zone) else state.fill(zone)


def _unregister(step: Register, *, addr: str | None = None, broker: str | None = None) -> Ask:
    ext = {
        "clusterName": step.cluster,
        "brokerName": broker or step.broker,
        "brokerAddr": addr or step.addr,
        "brokerId": str(step.broker_id),
    }
    return Ask(conn="view", code=104, ext=ext)


def _replaced_guard(step: Step, state: State) -> Action | None:
    """Another address takes an id: Java keeps the lease of the old one forever."""
    if not isinstance(step, Register) or len(_names(step)) < 3:
        return None
    group = state.groups.get(state.fill(step.broker))
    holder = group.members.get(step.broker_id) if group else None
    if holder is None or holder == state.fill(step.addr):
        return None
    # an unknown name: Java then drops the lease and changes nothing else
    return Repair((_unregister(step, addr=holder, broker="unknown"),), gone=(state.fill(step.broker), holder))


def _mislabelled(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    if not isinstance(question, OddRegister) or question.body[:1] != b"\x78":
        return False
    # taken, or refused for what it says and not for its form
    undecoded = "Failed to decode RegisterBrokerBody" in (java.replies[0].remark or "")
    return undecoded and _codes(java, ours) in ((1, 0), (1, 1))


def _damaged(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    """Java inflates only as much as it needs and may not reach the checksum."""
    wanted = isinstance(question, OddRegister) and question.ext.get("compressed", "").lower() == "true"
    remark = ours.replies[0].remark or "" if _codes(java, ours) in ((0, 1), (1, 1)) else ""
    return wanted and remark.startswith(("the body is not a zlib stream", "the zlib stream of the body is truncated"))


def _control_characters(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    if isinstance(question, (Register, Raw)):
        return False
    texts = [*(question.ext or {}).values(), question.body.decode(errors="replace")]
    remark = ours.replies[0].remark or "" if _codes(java, ours) == (0, 1) else ""
    return "contains a control character" in remark and any(_CONTROL.search(text) for text in texts)


# --- removal ----------------------------------------------------------------------------------------------------------


def _is_whole_unregister(step: Ask) -> bool:
    ext = step.ext or {}
    return len(_names(step)) == 3 and re.fullmatch(r"[+-]?\d{1,18}", ext.get("brokerId", "")) is not None


def _bad_unregister_guard(step: Step, state: State) -> Action | None:
    if not isinstance(step, Ask) or step.code != 104 or _is_whole_unregister(step):
        return None
    names = _names(step)
    key = (state.fill(names.get("clusterName", "")), state.fill(names.get("brokerAddr", "")))
    return Skip() if key in state.leases else None  # Java: the lease goes, the broker stays


def _bad_unregister(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    wanted = isinstance(question, Ask) and question.code == 104 and not _is_whole_unregister(question)
    return wanted and _codes(java, ours) == (0, 1)


def _absent_unregister_guard(step: Step, state: State) -> Action | None:
    """104 of an absent address: Java removes the write permission of its group if it has no master."""
    if not isinstance(step, Ask) or step.code != 104 or not _is_whole_unregister(step):
        return None
    names = {key: state.fill(value) for key, value in _names(step).items()}
    group = state.groups.get(names["brokerName"])
    if group is None or names["brokerAddr"] in group.members.values():
        return None
    return Skip() if group.acting and min(group.members, default=1) > 0 else None


def _late_unregister_guard(step: Step, state: State) -> Action | None:
    """104 over a former connection of the broker: Java removes the newer registration."""
    if not isinstance(step, Ask) or step.code != 104:
        return None
    names = _names(step)
    key = (state.fill(names.get("clusterName", "")), state.fill(names.get("brokerAddr", "")))
    lease = state.leases.get(key)
    late = lease is not None and lease.conn != step.conn and step.conn in state.former.get(key, set())
    return Skip() if late else None


def _shared_channel_guard(step: Step, state: State) -> Action | None:
    """Close of a connection with several brokers: Java removes only one of them."""
    return Skip() if isinstance(step, Drop) and len(state.leases_of(step.conn)) > 1 else None


def _forgotten_mappings(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    if not isinstance(question, Ask) or question.code != 105 or _codes(java, ours) != (0, 0):
        return False
    topic = state.fill((question.ext or {}).get("topic", ""))
    left, right = parse_body(java.replies[0].body), parse_body(ours.replies[0].body)
    name = "topicQueueMappingByBroker"
    kept: dict[str, Any] = left.pop(name, {})
    shown: dict[str, Any] = right.pop(name, {})
    gone = {broker for broker in kept if (topic, broker) in state.forgotten_mappings}
    left[name], right[name] = ({b: info for b, info in table.items() if b not in gone} for table in (kept, shown))
    return bool(gone) and free_of_order(left) == free_of_order(right)


def _nameless_mapping(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    """A mapping without `bname`: Java cannot encode the route of the topic afterwards."""
    wanted = question.code == 105 and _codes(java, ours) == (1, 0)
    return wanted and "java.util.TreeMap.compare" in (java.replies[0].remark or "")


# --- settings ---------------------------------------------------------------------------------------------------------


def setting_lines(question: Question) -> dict[str, str]:
    """The keys and values of a 318."""
    if not isinstance(question, Ask) or question.code != 318:
        return {}
    lines = re.findall(r"^[ \t]*([^ \t=:#]+)[ \t]*[=:]?[ \t]*(.*)$", question.body.decode("latin-1"), re.MULTILINE)
    return dict(lines)


def _setting_remark(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    lines = setting_lines(question)
    if not lines or _codes(java, ours) != (0, 0):
        return False
    left, right = dict(java.replies[0].header), dict(ours.replies[0].header)
    return "remark" not in left and bool(right.pop("remark", "")) and left == right


def _setting_refused(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    def never_over_the_wire(key: str) -> bool:
        return key in LOCAL_KEYS or key.startswith("routebook.")

    return any(map(never_over_the_wire, setting_lines(question))) and _codes(java, ours) == (0, 16)


def _setting_refused_guard(step: Step, state: State) -> Action | None:
    """Routebook rejects the whole request, Java accepts it: other settings in it would differ afterwards."""
    lines = setting_lines(step) if isinstance(step, Ask) else {}
    refused = [key for key in lines if key in LOCAL_KEYS or key.startswith("routebook.")]
    return Skip() if refused and len(lines) > 1 else None


def _odd_boolean_guard(step: Step, state: State) -> Action | None:
    """Java reads anything except `true` as false; Routebook rejects it with a remark."""
    lines = setting_lines(step) if isinstance(step, Ask) else {}
    flags = RUN_TIME_SETTINGS - {"waitSecondsForService"}
    odd = [key for key, value in lines.items() if key in flags and value.lower() not in ("true", "false")]
    return Skip() if odd else None


def _setting_needs_restart(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    if question.code != 319 or _codes(java, ours) != (0, 0):
        return False
    left, right = settings_text(java.replies[0].body), settings_text(ours.replies[0].body)
    ignored = LOCAL_KEYS | state.restart_settings
    return bool(state.restart_settings) and _less(left, ignored) == _less(right, ignored)


def _less(settings: dict[str, str], ignored: set[str]) -> dict[str, str]:
    return {key: value for key, value in settings.items() if key not in ignored}


# --- connections ------------------------------------------------------------------------------------------------------


def _http(question: Question, java: Answer, ours: Answer, state: State) -> bool:
    closed = java.closed and ours.closed and not java.replies and not ours.replies
    return closed and isinstance(question, Raw) and ours.leftover.startswith(b"HTTP/1.1 400 ")


def _codes(java: Answer, ours: Answer) -> tuple[int | None, int | None]:
    """The codes of two single replies; None for anything else."""
    left, right = (answer.replies[0].code if len(answer.replies) == 1 else None for answer in (java, ours))
    return left, right


KNOWN: Final = (
    Known("nameless broker", anchor="required-names", guard=_names_missing_guard, excuse=_names_missing),
    Known("nameless filter server", anchor="odd-json", guard=_null_filter_server_guard),
    Known("refused, but not forgotten", anchor="no-ghosts", guard=_ghost_guard),
    Known("replaced, but still leased", anchor="replaced-brokers", guard=_replaced_guard),
    Known(
        "unregistration without a name", anchor="required-names", guard=_bad_unregister_guard, excuse=_bad_unregister
    ),
    Known("late unregistration", anchor="late-removal", guard=_late_unregister_guard),
    Known("unregistration of an absent broker", anchor="late-removal", guard=_absent_unregister_guard),
    Known("mapping of a broker that is gone", anchor="static-mappings", excuse=_forgotten_mappings),
    Known("mapping without a broker", anchor="static-mappings", excuse=_nameless_mapping),
    Known("several brokers on one connection", anchor="all-brokers-of-a-connection", guard=_shared_channel_guard),
    Known("mislabelled body", anchor="mislabelled-compression", excuse=_mislabelled),
    Known("damaged body", anchor="damaged-compression", excuse=_damaged),
    Known("control character in a name", anchor="control-characters", excuse=_control_characters),
    Known("setting not taken", anchor="settings-over-the-wire", excuse=_setting_remark),
    Known("neither true nor false", anchor="settings-over-the-wire", guard=_odd_boolean_guard),
    Known("setting that needs a restart", anchor="settings-over-the-wire", excuse=_setting_needs_restart),
    Known("port over the wire", anchor="settings-refused", excuse=_setting_refused),
    Known("port among other settings", anchor="settings-refused", guard=_setting_refused_guard),
    Known("HTTP", anchor="strangers", excuse=_http),
)
