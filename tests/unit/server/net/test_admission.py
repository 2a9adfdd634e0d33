"""Pre-dispatch checks: shutdown, overload, rate limit."""

from typing import Any, cast

import pytest

from routebook.codes import VERSION_5_3_1, RequestCode, ResponseCode
from routebook.handlers import Caller, NameServer
from routebook.server.net.admission import Admission
from routebook.server.net.effects import EffectRunner
from routebook.server.net.limits import Host
from routebook.server.net.nameserver_service import NameServerService
from routebook.server.net.requester import Requester
from routebook.server.net.turns import Turns
from routebook.settings import Settings
from routebook.wire.command import Command

LOOKUP = Command(code=RequestCode.GET_ROUTEINFO_BY_TOPIC, opaque=1)
REGISTER = Command(code=RequestCode.REGISTER_BROKER, opaque=1)


@pytest.fixture
def nameserver() -> NameServer:
    return NameServer(Settings.build(), started_ms=0)


def admission(nameserver: NameServer, **options: Any) -> Admission:
    effects = cast("EffectRunner", None)
    service = NameServerService(nameserver, effects, lambda: 0, turns=Turns())
    return Admission(service, time=lambda: 100.0, **options)


def requester() -> Requester:
    return Requester(Caller(1, "10.0.0.1:5000"), Host("10.0.0.1"))


def refusal_code(checks: Admission, command: Command, peer: Requester | None = None) -> int | None:
    reply = checks.refusal(peer or requester(), command)
    return None if reply is None else reply.code


def test_without_a_check_there_is_no_cost(nameserver: NameServer) -> None:
    checks = admission(nameserver)
    applied = []
    for is_busy in (False, True, False):
        checks.set_busy(is_busy)
        applied.append(checks.current)
    assert applied == [None, checks, None]


def test_overload_rejects_look_ups_and_serves_brokers(nameserver: NameServer) -> None:
    checks = admission(nameserver)
    checks.set_busy(True)
    assert refusal_code(checks, LOOKUP) == ResponseCode.SYSTEM_BUSY
    assert refusal_code(checks, REGISTER) is None
    assert nameserver.exceeded["busy"] == 1


def test_the_rate_limit_counts_per_host(nameserver: NameServer) -> None:
    checks, peer = admission(nameserver, requests_per_second=2), requester()
    codes = [refusal_code(checks, LOOKUP, peer) for _ in range(6)]
    assert codes == [None] * 4 + [ResponseCode.SYSTEM_BUSY] * 2
    assert refusal_code(checks, REGISTER, peer) is None
    assert refusal_code(checks, LOOKUP, requester()) is None
    assert nameserver.exceeded["requests_per_second"] == 2


def test_at_shutdown_newer_clients_are_sent_away(nameserver: NameServer) -> None:
    checks = admission(nameserver)
    checks.shut_down()
    newer = Command(code=LOOKUP.code, opaque=1, version=VERSION_5_3_1 + 1)
    older = Command(code=LOOKUP.code, opaque=1, version=VERSION_5_3_1)
    assert refusal_code(checks, newer) == ResponseCode.GO_AWAY
    assert refusal_code(checks, older) is None
