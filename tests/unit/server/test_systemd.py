"""sd_notify: readiness and watchdog pings."""

import asyncio
import os
import socket
from pathlib import Path
from typing import Self

from routebook.server.systemd import ServiceNotifier
from tests.support.asynchronous import asynchronous
from tests.support.process import Process

DEADLINE_S = 60.0


class Systemd:
    """The socket of systemd."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(DEADLINE_S)
        self._socket.bind(str(path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def receive(self) -> str:
        return self._socket.recv(1000).decode()

    def has_message(self) -> bool:
        self._socket.setblocking(False)
        try:
            return bool(self._socket.recv(1000))
        except BlockingIOError:
            return False


def test_a_server_reports_readiness_pings_and_its_stop(tmp_path: Path) -> None:
    with Systemd(tmp_path / "notify") as systemd:
        environment = {"NOTIFY_SOCKET": str(systemd.path), "WATCHDOG_USEC": "300000"}
        arguments = ("serve", "--home", str(tmp_path / "home"), "--listen", "127.0.0.1:0", "--http", "off")
        process = Process(*arguments, environment=environment)
        try:
            assert systemd.receive() == "READY=1"
            assert [systemd.receive() for _ in range(3)] == ["WATCHDOG=1"] * 3
            process.stop()
        finally:
            process.kill()
        rest = []
        while "STOPPING=1" not in rest:
            rest.append(systemd.receive())
        assert set(rest) <= {"WATCHDOG=1", "STOPPING=1"}


@asynchronous
async def test_nothing_is_sent_without_a_socket_and_no_pings_without_a_timeout(tmp_path: Path) -> None:
    with Systemd(tmp_path / "notify") as systemd:
        path = str(systemd.path)
        for environ in ({}, {"WATCHDOG_USEC": "1000"}, {"NOTIFY_SOCKET": f"{path}-gone", "WATCHDOG_USEC": "1000"}):
            notifier = ServiceNotifier(environ)
            notifier.ready()
            notifier.stopping()
        other = {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1000", "WATCHDOG_PID": str(os.getpid() + 1)}
        ServiceNotifier(other).ready()
        ServiceNotifier({"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "soon"}).ready()
        assert [systemd.receive(), systemd.receive()] == ["READY=1"] * 2
        await asyncio.sleep(0.02)
        assert not systemd.has_message()
