"""Peer comparison of this server: created from the settings, recorded as events, reported as health."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from routebook.routes import RouteTable
from routebook.server.observe.health import Condition, Fact, Part
from routebook.server.state.recorder import Recorder
from routebook.settings import Settings

if TYPE_CHECKING:
    from routebook.peers.monitor import Peers


def open_peers(
    settings: Settings,
    routes: RouteTable,
    recorder: Recorder,
    *,
    now_ms: Callable[[], int],
    wall_ms: Callable[[], int],
) -> "Peers | None":
    """The peer monitor, not started; None without configured peers. Raises UsageError for an invalid address."""
    if not settings.peers:
        return None
    from routebook.client.signing import Credentials  # noqa: PLC0415  only with peers
    from routebook.peers.monitor import Peers  # noqa: PLC0415

    access_key, secret_key = settings.peers_credentials
    return Peers(
        settings.peers,
        routes,
        interval_s=settings.peers_interval_s,
        diverged_s=settings.peers_diverged_s,
        now_ms=now_ms,
        on_events=lambda events: recorder.record(events, at_ms=wall_ms()),
        credentials=Credentials(access_key=access_key, secret_key=secret_key) if access_key or secret_key else None,
    )


def peers_health(peers: "Peers") -> Part:
    """The health component `peers`: degraded if a peer has diverged or is unreachable."""
    report = peers.report()
    facts: dict[str, Fact] = {
        "peers": len(report),
        **{state: sum(one.state == state for one in report) for state in ("agrees", "differs", "diverged")},
        "unreachable": sum(one.state == "unreachable" for one in report),
        "differences": sum(one.total for one in report),
    }
    bad = [one for one in report if one.state in ("diverged", "unreachable")]
    if not bad:
        return Part(facts=facts)
    problems = [
        f"{one.peer} has diverged ({one.lasting} lasting differences)"
        if one.state == "diverged"
        else f"{one.peer} is unreachable: {one.problem}"
        for one in bad
    ]
    return Part(Condition.DEGRADED, f"{'; '.join(problems)}; see /v1/peers", facts)
