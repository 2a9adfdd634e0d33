"""Notices of a NameServer to brokers (905): listeners in place of brokers, and a script that causes notices."""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Final, TypeAlias

from tests.support.differential.endpoint import Endpoint
from tests.support.differential.steps import Ask, Drop, Register, Step, Topic
from tests.support.remoting_frames import Reply

QUIET_S: Final = 0.5  # a notice comes within milliseconds; nothing for this long, and there will be none
Notice: TypeAlias = tuple[str, int, int, tuple[tuple[str, str], ...]]  # to whom, code, flag, fields
MEMBERS: Final = ("master", "slave1", "slave2")


class Listeners:
    """Listens at the addresses of the brokers of one group and records the notices."""

    def __init__(self, sockets: dict[str, socket.socket]) -> None:
        self._servers = sockets
        self._open: list[tuple[str, socket.socket]] = []
        self.addrs = {name: f"127.0.0.1:{server.getsockname()[1]}" for name, server in sockets.items()}

    def notices(self) -> set[Notice]:
        """The notices since the last call, with names for addresses."""
        found = set()
        deadline = time.monotonic() + QUIET_S
        while (left := deadline - time.monotonic()) > 0:
            readable, _, _ = select.select([*self._servers.values(), *(one for _, one in self._open)], [], [], left)
            for ready in readable:
                found |= self._take(ready)
        return found

    def _take(self, ready: socket.socket) -> set[Notice]:
        for name, server in self._servers.items():
            if ready is server:
                self._open.append((name, server.accept()[0]))
                return set()
        name = next(name for name, one in self._open if one is ready)
        data = ready.recv(1 << 16)
        if not data:
            self._open = [(other, one) for other, one in self._open if one is not ready]
            ready.close()
            return set()
        reply = Reply.parse(data)
        names = {addr: member for member, addr in self.addrs.items()}
        fields = {key: names.get(value, value) for key, value in reply.ext.items()}
        return {(name, reply.code, int(reply.header["flag"]), tuple(sorted(fields.items())))}

    def close(self) -> None:
        for _, one in self._open:
            one.close()


@contextmanager
def listening() -> Iterator[Listeners]:
    """Listeners on free ports, one for each member of the group."""
    with ExitStack() as held:
        sockets = {name: held.enter_context(socket.create_server(("127.0.0.1", 0))) for name in MEMBERS}
        yield held.enter_context(closing(Listeners(sockets)))


def group_script(addrs: dict[str, str], *, acting: bool) -> list[Step]:
    """A group that gains members with ever lower ids and loses the lowest first: each step changes the lowest id."""
    extra = {"enableActingMaster": str(acting).lower()}

    def member(name: str, broker_id: int) -> Register:
        return Register(
            conn=name,
            cluster="notified@@",
            broker="group@@",
            addr=addrs[name],
            broker_id=broker_id,
            topics=(Topic(name="t0@@"), Topic(name="t1@@")),
            extra={**extra, "haServerAddr": f"ha-{name}"},
        )

    master, slave1, slave2 = (member(name, number) for number, name in enumerate(MEMBERS))
    farewell = Ask(
        conn="slave1",
        code=104,
        ext={"clusterName": "notified@@", "brokerName": "group@@", "brokerAddr": addrs["slave1"], "brokerId": "1"},
    )
    return [
        slave2,
        slave1,
        master,
        replace(master, counter=2),
        Drop(conn="master"),
        farewell,
        replace(slave1, counter=3),
    ]


def play(endpoint: Endpoint, *, acting: bool, tag: str) -> list[tuple[str, list[Notice]]]:
    """The notices after each step of the script, and their receivers."""
    seen = []
    with listening() as listeners:
        endpoint.reset()
        endpoint.ask(318, body=b"notifyMinBrokerIdChanged=true\nsupportActingMaster=true")
        for step in group_script(listeners.addrs, acting=acting):
            if isinstance(step, Drop):
                endpoint.drop(step.conn)
            else:
                endpoint.exchange(step.conn, step.data(tag), expect="answer")
            seen.append((str(step).partition(" in ")[0].split(":")[0], sorted(listeners.notices())))
        endpoint.reset()
    return seen
