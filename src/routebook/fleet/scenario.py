"""A scenario: how big a fleet is, how it behaves, and what befalls it; as a small TOML file says it."""

import re
import tomllib
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec

from routebook.errors import UsageError

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

MOST_BROKERS: Final = 5000
MOST_TOPICS: Final = 100_000
MOST_CLIENTS: Final = 10_000

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Millis(int):
    """A stretch of time; in TOML `"500ms"`, `"30s"`, `"1h30m"`, or plain seconds."""


class FaultKind(StrEnum):
    """What can befall a fleet."""

    CRASH = "crash"  # a broker's process dies: its connections close. `silent`: its machine does, and nothing closes
    STOP = "stop"  # a broker is stopped in order
    FREEZE = "freeze"  # a broker stands still with its connections open
    CUT = "cut"  # a broker and one NameServer cannot reach each other
    FLAP = "flap"  # a broker crashes and comes back, again and again
    SLOW = "slow"  # a broker's signs of life come late
    CHURN = "churn"  # topics are created, changed and deleted
    SWITCH = "switch"  # master and slave of a group change places
    RESTART = "restart"  # a NameServer is stopped and started (virtual time only)


class _Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file: a key that it does not know is a mistake."""


class BrokerTerms(_Table, frozen=True, kw_only=True):
    """How many brokers, and the settings of theirs that show on the wire. Defaults are those of 5.5.0."""

    count: Annotated[int, msgspec.Meta(ge=1, le=MOST_BROKERS)] = 10
    paired: Share = 0.0  # of the groups have a slave
    clusters: Annotated[int, msgspec.Meta(ge=1)] = 1
    zones: tuple[str, ...] = ()
    register_every: Millis = Millis(30_000)  # registerNameServerPeriod
    acting_master: Literal["off", "compatible", "new"] = "off"  # enableSlaveActingMaster; new: 901 and 904
    force_register: bool = True  # false: 322 first, 103 only if that says so
    split: Annotated[int, msgspec.Meta(ge=0)] = 0  # splitRegistrationSize; 0: in one piece
    single_topic_register: bool = False  # 217 for a new topic, not an incremental 103
    compressed: bool = False  # compressedRegister
    header: Literal["json", "binary"] = "json"
    listen: bool = True  # on their own port, too, for whoever wants to see whether they are there


class TopicTerms(_Table, frozen=True, kw_only=True):
    """How many topics, and where."""

    count: Annotated[int, msgspec.Meta(ge=0, le=MOST_TOPICS)] = 40
    spread: Annotated[int, msgspec.Meta(ge=1)] = 3  # groups that have a topic
    queues: Annotated[int, msgspec.Meta(ge=1, le=1024)] = 8


def _usual_mix() -> dict[Literal["java", "go", "cpp", "node"], int]:
    return {"java": 6, "go": 2, "cpp": 1, "node": 1}


class ClientTerms(_Table, frozen=True, kw_only=True):
    """How many clients, and what they are."""

    count: Annotated[int, msgspec.Meta(ge=0, le=MOST_CLIENTS)] = 10
    topics: Annotated[int, msgspec.Meta(ge=1)] = 3  # that each uses
    poll_every: Millis = Millis(30_000)  # pollNameServerInterval
    personas: dict[Literal["java", "go", "cpp", "node"], int] = msgspec.field(default_factory=_usual_mix)


class Fault(_Table, frozen=True, kw_only=True):
    """One line of the timetable. Either `at` (and perhaps `every`, `times`), or `per_day` at random times."""

    kind: FaultKind
    target: str = "any"
    at: Millis | None = None
    every: Millis | None = None
    times: Annotated[int, msgspec.Meta(ge=1)] | None = None
    per_day: Annotated[float, msgspec.Meta(gt=0)] | None = None
    lasts: Millis = msgspec.field(default=Millis(60_000), name="for")
    silent: bool = False
    nameserver: Annotated[int, msgspec.Meta(ge=1)] | None = None  # of those given, counted from 1; default: any
    down: Millis = Millis(5_000)  # flap
    up: Millis = Millis(25_000)
    delay: Millis = Millis(20_000)  # slow: at most

    def __post_init__(self) -> None:
        if (self.at is None) == (self.per_day is None):
            raise ValueError("a fault has either `at` or `per_day`")
        if self.every is None and self.times is not None and self.times > 1:
            raise ValueError("`times` needs `every`")
        if self.every is not None and (self.at is None or self.every <= 0):
            raise ValueError("`every` is more than nothing, and needs `at`")


class Scenario(_Table, frozen=True, kw_only=True):
    """The whole file."""

    name: str = ""
    about: str = ""
    duration: Millis = Millis(600_000)
    daily_at: Millis = Millis(3 * 3_600_000)  # in virtual time the timetable is gone through every day, from this hour
    brokers: BrokerTerms = BrokerTerms()
    topics: TopicTerms = TopicTerms()
    clients: ClientTerms = ClientTerms()
    fault: tuple[Fault, ...] = ()

    def sized(self, *, brokers: int | None = None, topics: int | None = None, clients: int | None = None) -> "Scenario":
        """The same with other numbers."""
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


def parse_scenario(text: str, *, name: str) -> Scenario:
    """A scenario from TOML; `name` is what messages call it. Raises UsageError."""
    try:
        scenario = msgspec.convert(tomllib.loads(text), Scenario, dec_hook=_millis)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"scenario {name} is not TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"scenario {name}: {error}") from None
    if sum(scenario.clients.personas.values()) <= 0 or min(scenario.clients.personas.values()) < 0:
        raise UsageError(f"scenario {name}: `clients.personas` are weights, and not all of them nothing")
    return scenario if scenario.name else msgspec.structs.replace(scenario, name=name)


def parse_duration(text: str) -> Millis:
    """`90s`, `1h30m`, `500ms`; a number alone is seconds. Raises ValueError."""
    bare = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", bare):
        return Millis(float(bare) * 1000)
    parts = _DURATION.findall(bare)
    if not parts or "".join(number + unit for number, unit in parts) != bare:
        raise ValueError(f"{text!r} is no duration: write 90s, 1h30m or 500ms")
    return Millis(sum(float(number) * _UNITS_MS[unit] for number, unit in parts))


def _millis(kind: type, value: Any) -> Any:
    if kind is not Millis:
        raise NotImplementedError(kind)
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return Millis(value * 1000)
    if isinstance(value, str):
        return parse_duration(value)
    raise ValueError(f'{value!r} is no duration: write "90s", "1h30m" or "500ms"')


def _as_is(_kind: type, value: Any) -> Any:
    return Millis(value)
