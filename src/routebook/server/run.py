"""The server process: opens the state, runs the event loop, and stops on a signal."""

import asyncio
import contextlib
import ctypes
import gc
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from routebook.errors import StartError
from routebook.handlers import NameServer
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.housekeeping import Housekeeping
from routebook.server.http.context import HttpContext
from routebook.server.http.listener import HttpListener, announce
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.health import Health
from routebook.server.observe.log import get_log
from routebook.server.server import Server, open_identities
from routebook.server.state.feed import Feed
from routebook.server.state.home import Home
from routebook.server.state.journal_only import JournalOnly
from routebook.server.systemd import ServiceNotifier
from routebook.server.tls.contexts import TlsContexts
from routebook.settings import Settings
from routebook.settings.table import HTTP_LISTEN

if TYPE_CHECKING:
    from routebook.server.access.identities_file import IdentitiesFile
    from routebook.server.controller.node import ControllerNode

_M_ARENA_MAX: Final = -8  # malloc.h
_SWITCH_S: Final = 0.0005  # the longest that the threads of journal and history delay the event loop


def run_controller(settings: Settings, home: Home, *, warnings: Iterable[str] = ()) -> int:
    """Run a Controller without a NameServer until a signal arrives; the exit code. Raises StartError."""
    from routebook.server.controller.node import ControllerNode  # noqa: PLC0415  only with a Controller

    _prepare(warnings)
    node = ControllerNode.open(settings)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve_controller(node, settings, home))
    return 0


async def _serve_controller(node: "ControllerNode", settings: Settings, home: Home) -> None:
    from routebook.server.controller.node import STANDALONE_VERSION  # noqa: PLC0415  only with a Controller

    stop = _stop_on_signal()
    address = settings.http_listen if HTTP_LISTEN in settings.origins else None  # the default is a NameServer's
    http = None if address is None else HttpListener(host=address[0], port=address[1])
    clock, event_log = Clock(), EventLog(time.monotonic)
    tls = TlsContexts(settings.tls)
    tls.load()
    access = open_identities(settings)
    journal = JournalOnly.open(home, settings, event_log=event_log, wall_ms=clock.wall_ms)
    denials = Denials(journal.recorder, clock.wall_ms)
    journal.start(node.config.node.address)
    try:
        await node.start(
            clock=clock,
            tls=tls,
            denials=denials,
            event_log=event_log,
            recorder=journal.recorder,
            access=access,
            version=STANDALONE_VERSION,
        )
    except StartError:
        await journal.stop("the Controller cannot start")
        raise
    housekeeping = Housekeeping(node.port.shared, port=node.port.number, access=access)
    housekeeping.start()
    _announce_controller(node, "Controller Server")
    if http is not None:
        http.start(_controller_http(node, settings, clock=clock, access=access, denials=denials, ns=home.ns))
    reason = await stop
    housekeeping.stop()
    await node.stop()
    denials.flush()
    await journal.stop(reason)
    if http is not None:
        await http.stop()


def _controller_http(
    node: "ControllerNode",
    settings: Settings,
    *,
    clock: Clock,
    access: "IdentitiesFile | None",
    denials: Denials,
    ns: str,
) -> HttpContext:
    """The parts that HTTP uses without a NameServer."""
    health = Health()
    health.add("controller", node.health)
    return HttpContext(
        nameserver=NameServer(settings, started_ms=clock.now_ms()),
        traffic=node.port.shared.traffic,
        loop_lag=node.port.loop_lag,
        health=health,
        feed=Feed(),
        now_ms=clock.now_ms,
        listen=node.port.address,
        ns=ns,
        boot="",
        access=access,
        denials=denials,
        controller=node,
        only_controller=True,
    )


def _prepare(warnings: Iterable[str]) -> None:
    log = get_log()
    for warning in warnings:
        log.warning(warning)
    _raise_file_limit()
    _use_one_malloc_arena()
    sys.setswitchinterval(_SWITCH_S)


def run(settings: Settings, home: Home, *, warnings: Iterable[str] = (), cold: bool = False) -> int:
    """Serve until a signal arrives; the exit code. Raises StartError."""
    _prepare(warnings)
    server = Server.open(settings, home=home, cold=cold)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        reason = runner.run(_serve(server))
    get_log().debug("home released", home=home.path, reason=reason)
    return 0


async def _serve(server: Server) -> str:
    stop = _stop_on_signal()
    address = server.nameserver.settings.http_listen
    http = None if address is None else HttpListener(host=address[0], port=address[1], on_listening=_http_listens)
    server.http_address = None if http is None else http.address
    await server.start()
    _announce(server)
    notifier = ServiceNotifier()
    notifier.ready()
    try:
        controller = await server.start_controller()
    except StartError:
        await server.stop("the Controller cannot start")
        raise
    if controller is not None:
        _announce_controller(controller, "ControllerManager")
    gc.collect()
    gc.freeze()  # recovered tables live until the end: keep them out of later collections
    await server.start_history_and_peers()
    if http is not None:
        http.start(server.http_context())
    reason = await stop
    notifier.stopping()
    await server.stop(reason)
    if http is not None:
        await http.stop()  # last: watchers receive the event that the server stops
    return reason


def _stop_on_signal() -> asyncio.Future[str]:
    """A future that the first signal completes with its name; a second signal ends the process at once."""
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[str] = loop.create_future()

    def on_signal(number: signal.Signals) -> None:
        if stop.done():
            logging.shutdown()
            os._exit(128 + number)
        stop.set_result(number.name)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            loop.add_signal_handler(number, on_signal, number)
    return stop


def _announce(server: Server) -> None:
    """Print Java's start line, which its scripts wait for, and our own."""
    serialize_type = server.nameserver.settings.serialize_type
    with contextlib.suppress(OSError, ValueError):  # a closed stdout does not stop the server
        sys.stdout.write(
            f"The Name Server boot success. serializeType={serialize_type}, address {server.address}\n"
            f"listening on {server.address} (nameserver)\n"
        )
        sys.stdout.flush()


def _announce_controller(controller: "ControllerNode", name: str) -> None:
    """Print Java's start line and our own."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.write(
            f"The {name} boot success. serializeType={controller.serialize_type}\n"
            f"listening on {controller.port.address} (controller)\n"
        )
        sys.stdout.flush()


def _http_listens(address: str) -> None:
    announce(address)
    gc.freeze()  # the modules of the HTTP stack, too


def _raise_file_limit() -> None:
    """Raise the limit on open files to the hard limit, as the JVM does: every connection is an open file."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _use_one_malloc_arena() -> None:
    """Let all threads share one malloc arena. See "Memory" in docs/operations.md.

    glibc gives each thread its own and keeps what is freed there: with the threads of journal, snapshots and history,
    25 to 30 MiB more stay resident. Other C libraries have no mallopt.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop if it is installed, otherwise asyncio's own, slower event loop."""
    try:
        from uvloop import new_event_loop  # noqa: PLC0415  optional
    except ImportError:
        return asyncio.new_event_loop
    return new_event_loop
