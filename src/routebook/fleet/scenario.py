"""Scenarios: size, behaviour and faults of a simulated fleet, from small TOML files."""

import re
import tomllib
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from routebook.errors import UsageError

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_FOLDER: Final = files("routebook.fleet") / "scenarios"
_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

MAX_BROKERS: Final = 5000
MAX_TOPICS: Final = 100_000
MAX_CLIENTS: Final = 10_000

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Millis(int):
    """A duration; in TOML `"500ms"`, `"30s"`, `"1h30m"`, or a number of seconds."""


class FaultKind(StrEnum):
    """The kinds of faults."""

    CRASH = "crash"  # a broker process dies and its connections close; `silent`: the machine dies, nothing closes
    STOP = "stop"  # a broker stops cleanly
    FREEZE = "freeze"  # a broker hangs with its connections open
    CUT = "cut"  # network partition between a broker and one NameServer
    FLAP = "flap"  # a broker crashes and returns repeatedly
    SLOW = "slow"  # a broker's heartbeats are late
    CHURN = "churn"  # topics are created, changed and deleted
    SWITCH = "switch"  # master and slave of a group swap roles
    RESTART = "restart"  # a NameServer restarts (virtual time only)
    MASTER_KILLED = "master-killed"  # the master of a Controller's broker set dies and its connection closes
    MASTER_FROZEN = "master-frozen"  # it hangs with its connection open
    MASTER_CUT = "master-cut"  # network partition between it and all Controller nodes
    SET_KILLED = "set-killed"  # all replicas of a set die, the master last
    CONTROLLER_KILLED = "controller-killed"  # the leader of the Controller dies and returns
    CONTROLLER_CUT = "controller-cut"  # network partition between the leader and etcd (over TCP only)
    ETCD_KILLED = "etcd-killed"  # an etcd member dies and returns (over TCP only)


# Faults of the Controller's own processes: over TCP a command of the operator injects them.
CONTROLLER_OUTAGES: Final = frozenset({FaultKind.CONTROLLER_KILLED, FaultKind.CONTROLLER_CUT, FaultKind.ETCD_KILLED})
CONTROLLER_FAULTS: Final = CONTROLLER_OUTAGES | {
    FaultKind.MASTER_KILLED,
    FaultKind.MASTER_FROZEN,
    FaultKind.MASTER_CUT,
    FaultKind.SET_KILLED,
}


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file; unknown keys are errors."""


class BrokerTerms(_Table, frozen=True, kw_only=True):
    """Number of brokers, and those of their settings that are visible on the wire. Defaults are those of 5.5.0."""

    count: Annotated[int, msgspec.Meta(ge=1, le=MAX_BROKERS)] = 10
    paired: Share = 0.0  # share of groups with a slave
    clusters: Annotated[int, msgspec.Meta(ge=1)] = 1
    zones: tuple[str, ...] = ()
    register_every: Millis = Millis(30_000)  # registerNameServerPeriod
    acting_master: Literal["off", "compatible", "new"] = "off"  # enableSlaveActingMaster; new: 901 and 904
    force_register: bool = True  # false: 322 first, and 103 only if it reports a change
    split: Annotated[int, msgspec.Meta(ge=0)] = 0  # splitRegistrationSize; 0: one request
    single_topic_register: bool = False  # 217 for a new topic instead of an incremental 103
    compressed: bool = False  # compressedRegister
    header: Literal["json", "binary"] = "json"
    listen: bool = True  # also listen on the broker port, so that clients can connect


class TopicTerms(_Table, frozen=True, kw_only=True):
    """Number and placement of topics."""

    count: Annotated[int, msgspec.Meta(ge=0, le=MAX_TOPICS)] = 40
    spread: Annotated[int, msgspec.Meta(ge=1)] = 3  # groups per topic
    queues: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 8


class ControllerTerms(_Table, frozen=True, kw_only=True):
    """Broker sets in controller mode; their brokers use the Controller only."""

    sets: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    replicas: Annotated[int, msgspec.Meta(ge=2, le=9)] = 2


def _default_profiles() -> dict[Literal["java", "go", "cpp", "node"], int]:
    return {"java": 6, "go": 2, "cpp": 1, "node": 1}


class ClientTerms(_Table, frozen=True, kw_only=True):
    """Number and kinds of clients."""

    count: Annotated[int, msgspec.Meta(ge=0, le=MAX_CLIENTS)] = 10
    topics: Annotated[int, msgspec.Meta(ge=1)] = 3  # per client
    poll_every: Millis = Millis(30_000)  # pollNameServerInterval
    profiles: dict[Literal["java", "go", "cpp", "node"], int] = msgspec.field(
        default_factory=_default_profiles, name="personas"
    )  # weights


class Fault(_Table, frozen=True, kw_only=True):
    """One fault of a scenario. Either `at` (with optional `every` and `times`), or `per_day` at random times."""

    kind: FaultKind
    target: str = "any"
    at: Millis | None = None
    every: Millis | None = None
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    per_day: Annotated[float, msgspec.Meta(gt=0)] | None = None
    lasts: Millis = msgspec.field(default=Millis(60_000), name="for")
    silent: bool = False
    nameserver: Annotated[int, msgspec.Meta(ge=1)] | None = None  # counted from 1; default: any
    down: Millis = Millis(5_000)  # flap
    up: Millis = Millis(25_000)
    delay: Millis = Millis(20_000)  # slow: at most

    def __post_init__(self) -> None:
        if (self.at is None) == (self.per_day is None):
            raise ValueError("a fault needs either `at` or `per_day`")
        if self.every is None and self.times is not None and self.times > 1:
            raise ValueError("`times` needs `every`")
        if self.every is not None and (self.at is None or self.every <= 0):
            raise ValueError("`every` must be greater than 0 and needs `at`")


class Scenario(_Table, frozen=True, kw_only=True):
    """The whole file."""

    name: str = ""
    about: str = ""
    duration: Millis = Millis(600_000)
    daily_at: Millis = Millis(3 * 3_600_000)  # in virtual time the timed faults repeat every day from this time on
    brokers: BrokerTerms = BrokerTerms()
    topics: TopicTerms = TopicTerms()
    clients: ClientTerms = ClientTerms()
    controller: ControllerTerms = ControllerTerms()
    fault: tuple[Fault, ...] = ()

    def sized(self, *, brokers: int | None = None, topics: int | None = None, clients: int | None = None) -> "Scenario":
        """Return a copy with other counts. Raises UsageError."""
        replace = msgspec.structs.replace
        try:
            return msgspec.convert(
                msgspec.to_builtins(
                    replace(
                        self,
                        brokers=replace(self.brokers, count=self.brokers.count if brokers is None else brokers),
                        topics=replace(self.topics, count=self.topics.count if topics is None else topics),
                        clients=replace(self.clients, count=self.clients.count if clients is None else clients),
                    ),
                    enc_hook=int,
                ),
                Scenario,
                dec_hook=_as_is,
            )
        except msgspec.ValidationError as error:
            raise UsageError(f"scenario {self.name}: {error}") from None


def shipped_names() -> list[str]:
    """Return the names of the scenarios in the package."""
    return sorted(entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))


def load_scenario(name: str) -> Scenario:
    """Load a shipped scenario by name, or a .toml file. Raises UsageError."""
    if name in shipped_names():
        return parse_scenario((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"), name=name)
    path = Path(name).expanduser()
    if path.suffix != ".toml":
        raise UsageError(f"unknown scenario {name!r}: use one of {', '.join(shipped_names())}, or a .toml file")
    try:
        return parse_scenario(path.read_text(encoding="utf-8"), name=str(path))
    except OSError as error:
        raise UsageError(f"cannot read scenario {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"scenario {path} is not UTF-8") from None


def parse_scenario(text: str, *, name: str) -> Scenario:
    """Parse TOML; `name` is used in error messages. Raises UsageError."""
    try:
        scenario = msgspec.convert(tomllib.loads(text), Scenario, dec_hook=_millis)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"scenario {name} is not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"scenario {name}: {error}") from None
    weights = scenario.clients.profiles.values()
    if sum(weights) <= 0 or min(weights) < 0:
        raise UsageError(f"scenario {name}: `clients.personas` needs weights of 0 or more, at least one above 0")
    return scenario if scenario.name else msgspec.structs.replace(scenario, name=name)


def parse_duration(text: str) -> Millis:
    """Parse `90s`, `1h30m` or `500ms`; a plain number is seconds. Raises ValueError."""
    bare = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", bare):
        return Millis(float(bare) * 1000)
    parts = _DURATION.findall(bare)
    if not parts or "".join(number + unit for number, unit in parts) != bare:
        raise ValueError(f"{text!r} is not a duration: write 90s, 1h30m or 500ms")
    return Millis(sum(float(number) * _UNITS_MS[unit] for number, unit in parts))


def _millis(kind: type, value: Any) -> Any:
    if kind is not Millis:
        raise NotImplementedError(kind)
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return Millis(value * 1000)
    if isinstance(value, str):
        return parse_duration(value)
    raise ValueError(f'{value!r} is not a duration: write "90s", "1h30m" or "500ms"')


def _as_is(_kind: type, value: Any) -> Any:
    return Millis(value)
