"""All deliberate differences of the Controller from Java, by name.

A rule excuses one pair of answers, or skips a step after which Java's tables hold what Routebook prevents. Each names
its entry in docs/compatibility.md; examples.py has steps for each that show the difference.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final

from tests.support.compare import settings_text
from tests.support.differential.steps import PLACEHOLDER, Ask, Drop
from tests.support.remoting_frames import Reply

Step = Ask | Drop


@dataclass(frozen=True)
class SetView:
    """A set before a step, as the Java controller shows it."""

    master: int | None = None
    epoch: int = 0
    sync_epoch: int = 0
    in_sync: tuple[int, ...] = ()
    replicas: tuple[int, ...] = ()
    alive: frozenset[int] = frozenset()

    @classmethod
    def parse(cls, info: dict[str, Any]) -> "SetView":
        rows = [*info["inSyncReplicas"], *info["notInSyncReplicas"]]
        return cls(
            info.get("masterBrokerId"),
            info["masterEpoch"],
            info["syncStateSetEpoch"],
            tuple(row["brokerId"] for row in info["inSyncReplicas"]),
            tuple(row["brokerId"] for row in rows),
            frozenset(row["brokerId"] for row in rows if row["alive"]),
        )


@dataclass
class State:
    """What the harness knows of a run."""

    tag: str
    sets: dict[str, SetView] = field(default_factory=dict)  # by final name; unknown sets are absent
    unclean: bool = False
    ever: dict[str, set[int]] = field(default_factory=dict)  # ids that were ever applied, by set
    beats: dict[str, set[tuple[str, str, int]]] = field(default_factory=dict)  # brokers by their connection

    def fill(self, text: str) -> str:
        return text.replace(PLACEHOLDER, self.tag)

    def name(self, step: Ask) -> str:
        return self.fill((step.ext or {}).get("brokerName", ""))

    def view(self, step: Ask) -> SetView | None:
        return self.sets.get(self.name(step))


@dataclass(frozen=True)
class Known:
    """One deliberate difference; `anchor` is its entry in docs/compatibility.md."""

    name: str
    _: KW_ONLY
    anchor: str
    skip: Callable[[Step, State], bool] = lambda _step, _state: False
    excuse: Callable[[Ask, Reply, Reply, State], bool] = lambda _step, _java, _ours, _state: False


def number(step: Ask, key: str) -> int | None:
    """A number as Java reads it: None if it is missing or invalid."""
    text = (step.ext or {}).get(key, "")
    found = int(text) if re.fullmatch(r"[+-]?\d{1,30}", text) else None
    return found if found is not None and -(2**63) <= found < 2**63 else None


def _ids(step: Ask) -> list[int]:
    """The ids of a 1011; those that are not numbers are left out."""
    text = (step.ext or {}).get("brokerControllerIdsToClean", "")
    return [int(part) for part in text.split(";") if re.fullmatch(r"[+-]?\d+", part)]


def _flag(step: Ask, key: str) -> bool:
    return (step.ext or {}).get(key, "").lower() == "true"


# --- elections --------------------------------------------------------------------------------------------------------


def _quoted_keys(step: Ask, java: Reply, ours: Reply, state: State) -> bool:
    if step.code != 1002 or java.code != 0 or java.header != ours.header:
        return False
    return re.sub(rb"([{,])(\d+):", rb'\1"\2":', java.body) == ours.body


def _first_election(step: Step, state: State) -> bool:
    """Java: an unregistered id wins; without an id the set is left unable to elect."""
    if not isinstance(step, Ask) or step.code != 1002:
        return False
    view, asking = state.view(step), number(step, "brokerId")
    if view is None or view.epoch != 0:
        return False
    return asking not in view.replicas


def _epochs(step: Step, state: State) -> bool:
    """Java: an election of a set without master that finds none raises masterEpoch."""
    if not isinstance(step, Ask) or step.code != 1002 or number(step, "brokerId") not in (None, -1):
        return False
    view = state.view(step)
    if view is None or view.master is not None:
        return False
    candidates = view.replicas if state.unclean else view.in_sync
    return not view.alive & set(candidates)


def _designated(step: Step, state: State) -> bool:
    """Java: designateElect without a broker id takes the role from a master that is alive."""
    if not isinstance(step, Ask) or step.code != 1002 or not _flag(step, "designateElect"):
        return False
    view = state.view(step)
    return view is not None and number(step, "brokerId") in (None, -1)


def _offsets(step: Step, state: State) -> bool:
    """Java: a difference of more than 2 GiB between offsets can reverse their order."""
    return isinstance(step, Ask) and step.code == 904 and (number(step, "maxOffset") or 0) >= 2**31


# --- ids --------------------------------------------------------------------------------------------------------------


def _next_id(step: Ask, java: Reply, ours: Reply, state: State) -> bool:
    if step.code != 1012 or java.code != 0:
        return False
    wanted = {**java.ext, "nextBrokerId": str(max(state.ever.get(state.name(step), {0})) + 1)}
    return {**java.header, "extFields": wanted} == ours.header


def _assigned_again(step: Step, state: State) -> bool:
    """Java: a removed id, and ids below one, can be applied."""
    if not isinstance(step, Ask) or step.code != 1013:
        return False
    view, applied = state.view(step), number(step, "appliedBrokerId")
    if view is None or applied is None or applied in view.replicas:
        return False
    return applied < 1 or applied in state.ever.get(state.name(step), set())


def _without_cluster(step: Step, state: State) -> bool:
    """Java: a set can be without a cluster."""
    if not isinstance(step, Ask) or step.code != 1013 or state.view(step) is not None:
        return False
    cluster = (step.ext or {}).get("clusterName")
    return cluster is None or (step.binary and not cluster)


# --- removal ----------------------------------------------------------------------------------------------------------


def _clean(step: Step, state: State) -> bool:
    """Java: ids are ignored for living brokers; a removed master stays; a removed in-sync replica is not announced."""
    if not isinstance(step, Ask) or step.code != 1011:
        return False
    view, ids = state.view(step), _ids(step)
    text = (step.ext or {}).get("brokerControllerIdsToClean", "").strip()
    if view is None or not text:
        return False
    if _flag(step, "isCleanLivingBroker") or not text.strip(";"):
        return True
    touched = bool({*view.in_sync, view.master} & set(ids))
    return touched or not view.in_sync or not set(view.replicas) - set(ids)


def _shared_connection(step: Step, state: State) -> bool:
    """Java: of several brokers on one connection, the close of it reports one."""
    return isinstance(step, Drop) and len(state.beats.get(step.conn, ())) > 1


def _reconnect(step: Step, state: State) -> bool:
    """Java: the first connection of a broker counts for ever."""
    if not isinstance(step, Ask) or step.code != 904:
        return False
    broker = beat_of(step, state)
    return any(broker in brokers and conn != step.conn for conn, brokers in state.beats.items())


def beat_of(step: Ask, state: State) -> tuple[str, str, int] | None:
    """The broker of a heartbeat."""
    broker_id = number(step, "brokerId")
    ext = step.ext or {}
    if broker_id is None:
        return None
    return state.fill(ext.get("clusterName", "")), state.fill(ext.get("brokerName", "")), broker_id


# --- settings ---------------------------------------------------------------------------------------------------------


def setting_lines(step: Step) -> dict[str, str]:
    """The keys and values of a 1009."""
    if not isinstance(step, Ask) or step.code != 1009:
        return {}
    lines = [line.replace(" ", "").partition("=") for line in step.body.decode().splitlines() if line[:1] != "#"]
    return {key: value for key, _, value in lines}


def _odd_setting(step: Ask, java: Reply, ours: Reply, state: State) -> bool:
    """Java ignores a value that is not a number; Routebook too, with a remark."""
    left = {**java.header, "remark": ours.remark}
    return bool(setting_lines(step)) and left == ours.header and (ours.remark or "").startswith("not applied: ")


def _odd_flag(step: Step, state: State) -> bool:
    """Java reads a flag that is neither true nor false as false."""
    flags = ("enableElectUncleanMaster", "notifyBrokerRoleChanged", "isProcessReadEvent", "metricsInDelta")
    return any(key in flags and value.lower() not in ("true", "false") for key, value in setting_lines(step).items())


def _read_event(step: Step, state: State) -> bool:
    """Java does not apply isProcessReadEvent: the setter of the field has another name."""
    return "isProcessReadEvent" in setting_lines(step)


LOCAL_KEYS: Final = {
    *("configStorePath", "controllerStorePath", "rocketmqHome", "listenPort", "bindAddress", "controllerDLegerPeers"),
    "jraftConfig",
}


def same_settings(java: Reply, ours: Reply) -> bool:
    left, right = (settings_text(reply.body) for reply in (java, ours))
    return {k: v for k, v in left.items() if k not in LOCAL_KEYS} == {
        k: v for k, v in right.items() if k not in LOCAL_KEYS
    }


KNOWN: Final = (
    Known("quoted keys", anchor="controller-elect-body", excuse=_quoted_keys),
    Known("first election", anchor="controller-first-election", skip=_first_election),
    Known("epochs of failing elections", anchor="controller-epochs", skip=_epochs),
    Known("designated without an id", anchor="controller-designated", skip=_designated),
    Known("offsets", anchor="controller-offsets", skip=_offsets),
    Known("next id", anchor="controller-next-id", excuse=_next_id),
    Known("id assigned again", anchor="controller-next-id", skip=_assigned_again),
    Known("set without cluster", anchor="required-names", skip=_without_cluster),
    Known("clean", anchor="controller-clean", skip=_clean),
    Known("several brokers on one connection", anchor="controller-reconnect", skip=_shared_connection),
    Known("reconnect", anchor="controller-reconnect", skip=_reconnect),
    Known("odd setting", anchor="settings-over-the-wire", excuse=_odd_setting),
    Known("odd flag", anchor="settings-over-the-wire", skip=_odd_flag),
    Known("isProcessReadEvent", anchor="controller-read-event", skip=_read_event),
)


Notifications = Mapping[str, Sequence[bytes]]  # frames by address, in order of arrival


def same_notifications(java: Notifications, ours: Notifications) -> bool:
    """Rule `controller-notifications`: on a busy machine Java sends some 1008 twice, Routebook never.

    Java's frames must be ours in the same order, and each further frame must be equal to an earlier one of Java at the
    same address. Nothing else is excused: no frame of ours without one of Java's, no other order, no other content.
    """
    return java.keys() == ours.keys() and all(_is_repeated(java[address], ours[address]) for address in java)


def _is_repeated(java: Sequence[bytes], ours: Sequence[bytes]) -> bool:
    taken = 0
    for at, frame in enumerate(java):
        if taken < len(ours) and frame == ours[taken]:
            taken += 1
        elif frame not in java[:at]:
            return False
    return taken == len(ours)
