"""Measures the rows of the table: all peers take turns round by round, so that other load affects all of them."""

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from benchmarks.suite.look_ups import CREDENTIALS, IDENTITIES, LOOK_UPS, LookUp, goals_of
from benchmarks.suite.native import Brokers, Load, LoadError, run_load
from benchmarks.suite.peers import STARTERS, Server, limit, routebook
from benchmarks.suite.plans import Credentials, look_ups, register_body, registrations, topic_names
from benchmarks.suite.results import Goal, Row
from routebook.wire.command import SerializeType

_RENEW_S: Final = 45.0  # a lease ends after 120 s
_OFFERED: Final = 20_000
_STORM_OFFERED: Final = 1_000  # each answer has 60 KB; at a higher rate Java does not keep up
_PERIOD_S: Final = 30.0  # registration interval of a broker


class Size(NamedTuple):
    """The size of a measurement."""

    rounds: int
    seconds: float
    warmup_s: float
    brokers: int
    topics: int
    starts: int


FULL: Final = Size(rounds=5, seconds=2.5, warmup_s=0.5, brokers=300, topics=10_000, starts=7)
MAX_BROKERS_RUST: Final = 60
QUICK: Final = Size(rounds=3, seconds=0.6, warmup_s=0.2, brokers=60, topics=2_000, starts=2)


class Fleet:
    """A server with registered brokers; `renew` keeps their leases."""

    def __init__(self, server: Server, plan: Path, *, brokers: int) -> None:
        self.server = server
        self.brokers = Brokers(server.port, plan, connections=brokers)
        self._count = brokers
        self._renewed = time.monotonic()

    def register(self, start: int, count: int) -> Load:
        return self.brokers.send(start, count)

    def renew(self, *, count: int | None = None) -> None:
        if time.monotonic() - self._renewed > _RENEW_S:
            self.brokers.send(0, self._count if count is None else count)
            self._renewed = time.monotonic()


def measure_starts(names: Sequence[str], size: Size) -> Iterator[Row]:
    """Time from start to first answer, and memory when idle."""
    start_s: dict[str, list[float]] = {name: [] for name in names}
    idle_mib: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(size.starts):
        for name in names:
            with STARTERS[name]() as server:
                start_s[name].append(server.start_s)
                time.sleep(1.5)
                idle_mib[name].append(server.memory_mib())
    yield Row("start", "start to first answer", "s", start_s, goals_of("<=", java=0.2))
    yield Row("memory-idle", "memory, idle", "MiB", idle_mib, goals_of("<=", java=0.4))


def measure_look_ups(names: Sequence[str], size: Size, wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Closed loops for throughput and CPU time per request, and one open loop for latency."""
    rows = [row for row in LOOK_UPS if wanted(row.key) or (row.key == "narrow-32" and wanted("cpu"))]
    latency = wanted("latency")
    if not rows and not latency:
        return
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="routebook-bench-")))
        plans = {
            False: look_ups(folder / "narrow", topic_names(100, "narrow")),
            True: look_ups(folder / "wide", topic_names(20, "wide")),
        }
        narrow = topic_names(100, "narrow")
        kinds = {
            "missing": look_ups(folder / "missing", topic_names(100, "%RETRY%missing")),
            "binary": look_ups(folder / "binary", narrow, serialize_type=SerializeType.ROCKETMQ),
            "tls": plans[False],
            "signed": look_ups(folder / "signed", narrow, credentials=CREDENTIALS),
        }
        fleets = {name: _small_fleet(stack, STARTERS[name](), folder) for name in names}
        signed: Fleet | None = None
        ours = fleets["routebook"].server
        bodies = {wide: _body(ours, f"{'wide' if wide else 'narrow'}-00000") for wide in plans}
        limits = {wide: stack.enter_context(limit(body)) for wide, body in bodies.items()}
        for row in rows:
            if not row.kind:
                yield from _closed_row(row, size, fleets, limits[row.wide], plans[row.wide])
                continue
            two = {name: fleet for name, fleet in fleets.items() if name in ("routebook", "java")}
            if row.kind == "signed":
                two["routebook"] = signed = signed or _signed_fleet(stack, folder)
            yield from _closed_row(row, size, two, None, kinds[row.kind])
        if latency:
            yield from _open_row(
                "latency",
                f"look-ups at {_OFFERED // 1000} k/s offered",
                size,
                {name: fleets[name] for name in names},
                plans[False],
                rate=_OFFERED,
                goals=goals_of("<=", java=0.5, rust=0.5),
            )


def _signed_fleet(stack: contextlib.ExitStack, folder: Path) -> Fleet:
    """Routebook with authentication."""
    identities = folder / "identities.toml"
    identities.touch(mode=0o600)
    identities.write_text(IDENTITIES)
    server = routebook(environment={"ROUTEBOOK_AUTH_FILE": str(identities)})
    return _small_fleet(stack, server, folder, credentials=CREDENTIALS)


def _small_fleet(
    stack: contextlib.ExitStack, server: Server, folder: Path, *, credentials: Credentials | None = None
) -> Fleet:
    stack.callback(server.stop)
    wide, narrow = topic_names(20, "wide"), topic_names(100, "narrow")
    bodies = [register_body(wide), register_body([*wide, *narrow])]
    brokers = [(broker, int(broker < 3)) for broker in range(300)]
    name = "fleet" if credentials is None else "signed-fleet"
    plan = registrations(folder / name, bodies, brokers, credentials=credentials)
    fleet = Fleet(server, plan, brokers=300)
    stack.callback(fleet.brokers.close)
    fleet.register(0, 300)
    return fleet


def _body(server: Server, topic: str) -> bytes:
    answer = server.ask(105, {"topic": topic})
    assert answer.body is not None
    return answer.body


def _closed_row(row: LookUp, size: Size, fleets: dict[str, Fleet], c_limit: Server | None, plan: Path) -> Iterator[Row]:
    servers = {name: fleet.server for name, fleet in fleets.items()}
    if c_limit is not None:
        servers["limit"] = c_limit
    throughput: dict[str, list[float]] = {name: [] for name in servers}
    cpu: dict[str, list[float]] = {name: [] for name in servers}
    failures: dict[str, str] = {}
    for turn in range(size.rounds + 1):
        for fleet in fleets.values():
            fleet.renew()
        for name, server in servers.items():
            if name in failures:
                continue
            used = server.cpu_s()
            try:
                load = run_load(
                    server.port,
                    plan,
                    tls=row.kind == "tls",
                    answer=17 if row.kind == "missing" else 0,
                    connections=row.connections,
                    depth=row.depth,
                    seconds=size.seconds,
                    warmup=size.warmup_s,
                )
            except LoadError as problem:
                failures[name] = str(problem)
                continue
            used = server.cpu_s() - used
            if turn:  # the first round is a warm-up for the JVM
                throughput[name].append(load.per_second)
                cpu[name].append(used / load.answered * 1e6)
    yield Row(row.key, f"look-ups, {row.title}", "/s", throughput, row.goals, failures)
    goals = goals_of("<=", java=0.2, rust=0.25) if row.key == "narrow-32" else ()
    yield Row(f"cpu-{row.key}", f"CPU per look-up, {row.title}", "µs", cpu, goals, failures)


def _open_row(
    key: str,
    title: str,
    size: Size,
    fleets: dict[str, Fleet],
    plan: Path,
    *,
    rate: int,
    goals: tuple[Goal, ...],
    during: Callable[[Fleet], contextlib.AbstractContextManager[None]] | None = None,
) -> Iterator[Row]:
    shares = {"p50": "p50_us", "p99": "p99_us", "p99.9": "p999_us"}
    found: dict[str, dict[str, list[float]]] = {share: {name: [] for name in fleets} for share in shares}
    failures: dict[str, str] = {}
    for turn in range(size.rounds + 1):
        for name, fleet in fleets.items():
            if name in failures:
                continue
            try:
                with during(fleet) if during else contextlib.nullcontext():
                    load = run_load(
                        fleet.server.port,
                        plan,
                        connections=32,
                        rate=rate,
                        seconds=2 * size.seconds,
                        warmup=size.warmup_s,
                    )
            except LoadError as problem:
                failures[name] = str(problem)
                continue
            for share, field in shares.items():
                if turn:
                    found[share][name].append(getattr(load, field))
        if during is None:
            for fleet in fleets.values():
                fleet.renew()
    for share, values in found.items():
        yield Row(f"{key}-{share}", f"{share} of {title}", "µs", values, goals if share == "p99" else (), failures)


def measure_big_fleet(names: Sequence[str], size: Size) -> Iterator[Row]:
    """Many brokers with many topics: registration time, memory, and look-up latency during registrations.

    Rust's server is so slow that more brokers than MAX_BROKERS_RUST expire before their next registration: it is
    compared with Routebook in rows of its own, with that many brokers.
    """
    if "rust" not in names or size.brokers <= MAX_BROKERS_RUST:
        yield from _big_fleet(names, size)
        return
    yield from _big_fleet([name for name in names if name != "rust"], size)
    for row in _big_fleet(["routebook", "rust"], size._replace(brokers=MAX_BROKERS_RUST)):
        title = row.title if row.key.startswith(("storm", "memory")) else f"{row.title}, {MAX_BROKERS_RUST} brokers"
        yield msgspec.structs.replace(row, key=f"{row.key}-few", title=title)


def _big_fleet(names: Sequence[str], size: Size) -> Iterator[Row]:
    brokers = size.brokers
    topics = topic_names(size.topics)
    what = f"{brokers} brokers × {size.topics:,} topics"
    changes = max(2, brokers // 10)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="routebook-bench-")))
        bodies = [register_body(topics)]
        bodies += [register_body(topics, counter=2 + n, changed=topics[n % len(topics)]) for n in range(size.rounds)]
        frames = [(broker, 0) for broker in range(brokers)]
        for turn in range(size.rounds):
            frames += [(broker, 1 + turn) for broker in range(brokers)]
        plan = registrations(folder / "fleet", bodies, frames)
        lookups = look_ups(folder / "lookups", topics)
        fleets: dict[str, Fleet] = {}
        for name in names:
            server = STARTERS[name]()
            stack.callback(server.stop)
            fleets[name] = Fleet(server, plan, brokers=brokers)
            stack.callback(fleets[name].brokers.close)
        yield from _registrations(fleets, size, changes=changes)
        time.sleep(3)
        memory = {name: [fleet.server.memory_mib()] for name, fleet in fleets.items()}
        yield Row("memory-big", f"memory, {what}", "MiB", memory, goals_of("<=", java=0.5))

        @contextlib.contextmanager
        def registering(fleet: Fleet) -> Iterator[None]:
            rate = brokers / _PERIOD_S
            count = int(rate * (2 * size.seconds + size.warmup_s)) + 1
            fleet.brokers.begin(0, count, rate=rate)
            try:
                yield
            finally:
                fleet.brokers.finish()

        for fleet in fleets.values():  # the first body again: registrations from here on are unchanged
            fleet.register(0, brokers)
        yield from _open_row(
            "storm",
            f"look-ups at {_STORM_OFFERED // 1000} k/s while {what} register every {_PERIOD_S:.0f} s",
            size,
            fleets,
            lookups,
            rate=_STORM_OFFERED,
            goals=goals_of("<=", java=0.5, rust=0.5),
            during=registering,
        )


def _registrations(fleets: dict[str, Fleet], size: Size, *, changes: int) -> Iterator[Row]:
    """Measure registrations; a peer that fails is removed from `fleets`."""
    kinds = ("first", "same", "changed")
    found: dict[str, dict[str, list[float]]] = {kind: {name: [] for name in fleets} for kind in kinds}
    failures: dict[str, str] = {}

    def for_each_fleet(work: Callable[[str, Fleet], None]) -> None:
        for name, fleet in list(fleets.items()):
            try:
                work(name, fleet)
            except LoadError as problem:
                failures[name] = str(problem)
                del fleets[name]

    done = 0
    for turn in range(size.rounds):
        count = size.brokers // size.rounds if turn < size.rounds - 1 else size.brokers - done

        def register_first(name: str, fleet: Fleet, first: int = done, count: int = count) -> None:
            fleet.renew(count=first or 1)
            found["first"][name].append(fleet.register(first, count).mean_us / 1000)

        for_each_fleet(register_first)
        done += count
    for turn in range(size.rounds):

        def register_same(name: str, fleet: Fleet) -> None:
            found["same"][name].append(fleet.register(0, changes).mean_us / 1000)

        def register_changed(name: str, fleet: Fleet, start: int = size.brokers * (1 + turn)) -> None:
            fleet.renew()
            found["changed"][name].append(fleet.register(start, changes).mean_us / 1000)
            fleet.register(0, changes)

        for_each_fleet(register_same)
        for_each_fleet(register_changed)
    goals = {
        "first": goals_of("<=", java=1, rust=0.3),
        "same": goals_of("<=", java=0.15, rust=0.05),
        "changed": goals_of("<=", java=0.8, rust=0.2),
    }
    titles = {"first": "first", "same": "unchanged", "changed": "one topic changed"}
    for kind in kinds:
        title = f"registration of {size.topics:,} topics, {titles[kind]}"
        yield Row(f"register-{kind}", title, "ms", found[kind], goals[kind], failures)
