"""The ceiling of every request code, HTTP path and WebSocket message: the table of docs/security.md, and what is sent.

A ceiling is CPU of the server process for one request, in milliseconds, beside 20,000 topics: a part for each request
and a part for each KiB that is received. A code or path without a ceiling fails `test_every_request.py`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.attacks import hostile_input
from tests.support.remoting_frames import Request


class Ceiling(NamedTuple):
    """CPU milliseconds, and MiB by which memory may have grown after 20 requests."""

    ms: float
    ms_per_kib: float = 0.2
    mib: int = 16


LARGE: Final = "large"  # a broker with all topics
READ: Final = Ceiling(2)
LIST: Final = Ceiling(10)
WRITE: Final = Ceiling(5)
LOOSE: Final = Ceiling(5, ms_per_kib=0.6)  # loose JSON, which is at most 64 KiB
ALL_QUEUES: Final = Ceiling(50)  # changes every topic of a broker
PAGE: Final = Ceiling(40)
LONG_PAGE: Final = Ceiling(150)  # names every topic, or every broker

CODES: Final[Mapping[int, Ceiling]] = {
    100: WRITE,
    101: READ,
    102: WRITE,
    103: LOOSE,
    104: WRITE,
    105: READ,
    106: LIST,
    205: ALL_QUEUES,
    206: LIST,
    216: WRITE,
    217: LOOSE,
    219: LIST,
    224: LIST,
    304: LIST,
    311: LIST,
    312: LIST,
    313: LIST,
    318: WRITE,
    319: READ,
    322: READ,
    327: ALL_QUEUES,
    901: READ,
    904: READ,
}
PATHS: Final[Mapping[str, Ceiling]] = {
    "GET /healthz": PAGE,
    "GET /readyz": PAGE,
    "GET /metrics": PAGE,
    "GET /v1/server": PAGE,
    "GET /v1/health": PAGE,
    "GET /v1/overview": PAGE,
    "GET /v1/strip": PAGE,
    "GET /v1/settings": PAGE,
    "GET /v1/kv": PAGE,
    "GET /v1/clusters": PAGE,
    "GET /v1/brokers": PAGE,
    "GET /v1/brokers/{name:str}": PAGE,
    "GET /v1/brokers/{name:str}/history": PAGE,
    "GET /v1/brokers/{name:str}/loss": LONG_PAGE,
    "GET /v1/brokers/{name:str}/sessions": PAGE,
    "GET /v1/brokers/{name:str}/beats": PAGE,
    "GET /v1/brokers/{name:str}/maintenance": LONG_PAGE,
    "GET /v1/controller": PAGE,
    "GET /v1/controller/sets": PAGE,
    "GET /v1/controller/sets/{name:str}": PAGE,
    "GET /v1/controller/elections": PAGE,
    "GET /v1/topics": LONG_PAGE,
    "GET /v1/search/topics": LONG_PAGE,
    "GET /v1/routes/{topic:str}": PAGE,
    "GET /v1/routes/{topic:str}/history": PAGE,
    "GET /v1/routes/{topic:str}/why": PAGE,
    "GET /v1/topics/{topic:str}/demand": PAGE,
    "GET /v1/misses": PAGE,
    "GET /v1/events": PAGE,
    "GET /v1/records": PAGE,
    "GET /v1/journal": PAGE,
    "GET /v1/journal/{segment:str}": PAGE,
    "GET /v1/peers": PAGE,
    "GET /v1/digest": LONG_PAGE,
    "GET /v1/digest/{buckets:str}": LONG_PAGE,
    "GET /v1/compare": LONG_PAGE,
    "POST /v1/compare": LONG_PAGE,
    "GET /v1/reports": PAGE,
    "GET /v1/reports/{name:str}": PAGE,
    "GET /v1/session": PAGE,
    "POST /v1/session": PAGE,
    "DELETE /v1/session": PAGE,
    "POST /v1/admin/kv": PAGE,
    "DELETE /v1/admin/kv/{namespace:str}/{key:str}": PAGE,
    "POST /v1/admin/settings": PAGE,
    "POST /v1/admin/brokers/{name:str}/wipe-write": LONG_PAGE,
    "POST /v1/admin/brokers/{name:str}/restore-write": LONG_PAGE,
    "DELETE /v1/admin/topics/{topic:str}": PAGE,
    "POST /v1/admin/controller/elect": PAGE,
    "POST /v1/admin/controller/clean": PAGE,
}
MESSAGES: Final[Mapping[str, Ceiling]] = {"watch": WRITE}


def requests_of(code: int) -> dict[str, Request]:
    """Forms of one request: empty, usual, with a header and with a body as large as is accepted or larger."""
    broker = hostile_input.registration_fields("cost-0", addr="10.9.0.0:10911")
    names = {"topic": "topic-000001", "cluster": "hostile", "namespace": "n", "key": "k", "value": "v"}
    usual = {**broker, **names, **({"brokerName": LARGE} if code in {205, 327} else {})}
    filled = {**usual, **{f"field-{number:04d}": "x" * 16 for number in range(400)}}
    loose = hostile_input.loose_route(60 << 10)
    return {
        "empty": Request(code=code),
        "usual": Request(code=code, ext=usual, body=_BODIES.get(code, b"")),
        "unknown names": Request(code=code, ext=dict.fromkeys(usual, "nothing")),
        "400 fields": Request(code=code, ext=filled, body=_BODIES.get(code, b"")),
        "60 KiB of loose JSON": Request(code=code, ext=usual, body=loose),
        "256 KiB of brackets": Request(code=code, ext=usual, body=b"[" * (256 << 10)),
        "256 KiB of zeros": Request(code=code, ext=usual, body=b"\0" * (256 << 10)),
    }


_BODIES: Final[Mapping[int, bytes]] = {
    103: hostile_input.registration("", [f"new-{number:05d}" for number in range(500)]).body or b"",
    217: b'{"queueDatas":[{"brokerName":"cost-0","perm":6,"readQueueNums":8,"topicSysFlag":0,"writeQueueNums":8}]}',
    318: b"clientRequestThreadPoolNums=8\n",
    322: b'{"counter":1,"stateVersion":0,"timestamp":1}',
}


def table() -> list[str]:
    """The rows of docs/security.md."""
    named = [(str(code), ceiling) for code, ceiling in CODES.items()]
    named += [(f"`{path}`", ceiling) for path, ceiling in PATHS.items()]
    named += [(f"WebSocket `{message}`", ceiling) for message, ceiling in MESSAGES.items()]
    return [f"| {name} | {one.ms:g} ms | {one.ms_per_kib:g} ms | {one.mib} MiB |" for name, one in named]
