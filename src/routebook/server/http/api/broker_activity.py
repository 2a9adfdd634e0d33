"""`/v1/brokers/{name}/sessions` and `/beats`: uptime and heartbeats of a broker."""

from typing import Final

import msgspec
from litestar import get

from routebook.history.query.answers import Certainty
from routebook.history.query.sessions import ServerRun, Session
from routebook.rollup import percentile
from routebook.server.http.api.dependencies import ContextDep, HubDep, ThreadsDep
from routebook.server.http.api.parameters import Days, NameInPath, from_path, query_history
from routebook.server.http.errors import ApiError, error_specs
from routebook.server.http.views.availability import Day, by_day

_DAY_MS: Final = 86_400_000


class MemberSession(msgspec.Struct, frozen=True, kw_only=True):
    """An interval in which an address was registered; docs/http.md lists the values of `began` and `ended`."""

    from_ms: int
    to_ms: int | None
    began: str
    ended: str | None
    planned: bool | None
    peer: str | None
    who: str | None


class MemberSessions(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions of one broker id and address."""

    broker_id: int
    addr: str
    cluster: str
    sessions: list[MemberSession]
    days: list[Day]


class SessionsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Uptime of the members of a group and of this NameServer."""

    broker: str
    from_ms: int
    to_ms: int
    now_ms: int
    members: list[MemberSessions]
    nameserver: list[ServerRun]
    certainty: Certainty


class BeatMinute(msgspec.Struct, frozen=True, kw_only=True):
    """Heartbeats in one minute."""

    minute_ms: int
    beats: int
    max_gap_ms: int


class MemberBeats(msgspec.Struct, frozen=True, kw_only=True):
    """Heartbeats of one address and the gaps between them."""

    addr: str
    cluster: str
    beats: int
    gap_p50_ms: int | None
    gap_p99_ms: int | None
    gap_max_ms: int
    minutes: list[BeatMinute]


class BeatsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Heartbeats of the last three hours, since this start at the earliest."""

    broker: str
    since_ms: int
    members: list[MemberBeats]


@get("/v1/brokers/{name:str}/sessions", summary="Uptime of a broker", responses=error_specs(404, 503))
async def broker_sessions(context: ContextDep, threads: ThreadsDep, name: NameInPath, days: Days = 7) -> SessionsAnswer:
    """Sessions with the reasons of their ends, and the availability per day (UTC)."""
    broker, now_ms = from_path(name), context.now_ms()
    from_ms = now_ms - days * _DAY_MS
    answer = await query_history(context, threads, lambda history: history.sessions(broker, since_ms=from_ms))
    if answer is None:
        raise ApiError(404, "no broker with this name was ever registered", "/v1/brokers lists the brokers")
    found, runs, certainty = answer
    members: dict[tuple[int, str], list[Session]] = {}
    for session in found:
        members.setdefault((session.broker_id, session.addr), []).append(session)
    return SessionsAnswer(
        broker=broker,
        from_ms=from_ms,
        to_ms=now_ms,
        now_ms=now_ms,
        members=[
            MemberSessions(
                broker_id=broker_id,
                addr=addr,
                cluster=sessions[-1].cluster,
                sessions=[msgspec.convert(session, MemberSession, from_attributes=True) for session in sessions],
                days=by_day(sessions, runs, from_ms=from_ms, to_ms=now_ms),
            )
            for (broker_id, addr), sessions in sorted(members.items())
        ],
        nameserver=runs,
        certainty=certainty,
    )


@get("/v1/brokers/{name:str}/beats", summary="Regularity of a broker's heartbeats", responses=error_specs())
async def broker_beats(context: ContextDep, hub: HubDep, name: NameInPath) -> BeatsAnswer:
    """Gaps between heartbeats per minute and their percentiles, in the last three hours; the lake has older ones."""
    broker, now_ms = from_path(name), context.now_ms()
    hub.take_in()
    members = []
    for key, beats in hub.recent.beats.items():
        if beats.broker != broker:
            continue
        minutes = [BeatMinute(minute_ms=at, beats=count, max_gap_ms=gap) for at, count, gap in beats.minutes(now_ms)]
        longest = max((minute.max_gap_ms for minute in minutes), default=0)
        gaps_ms = beats.gaps(now_ms)
        members.append(
            MemberBeats(
                addr=key.addr,
                cluster=key.cluster,
                beats=sum(minute.beats for minute in minutes),
                gap_p50_ms=percentile(gaps_ms, 0.5, max_value=longest or None),
                gap_p99_ms=percentile(gaps_ms, 0.99, max_value=longest or None),
                gap_max_ms=longest,
                minutes=minutes,
            )
        )
    return BeatsAnswer(broker=broker, since_ms=hub.recent.since_ms, members=sorted(members, key=lambda one: one.addr))
