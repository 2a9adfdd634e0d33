"""sd_notify: reports readiness to systemd, and pings its watchdog from the event loop.

systemd sets NOTIFY_SOCKET (Type=notify) and WATCHDOG_USEC (WatchdogSec). If the event loop does not run for that long,
systemd restarts the process. Without these variables nothing is sent.
"""

import asyncio
import os
import socket
from collections.abc import Mapping
from typing import Final

_PINGS_PER_TIMEOUT: Final = 3


class ServiceNotifier:
    """Call `ready` once the port is open, and `stopping` at the end."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        usec = environ.get("WATCHDOG_USEC", "")
        # WATCHDOG_PID names another process if the variable was inherited
        is_ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        is_number = usec.isascii() and usec.isdigit()
        self._interval_s = int(usec) / 1e6 / _PINGS_PER_TIMEOUT if is_number and is_ours else 0.0

    def ready(self) -> None:
        """Report that the service has started, and ping the watchdog from now on."""
        if not self._address:
            return
        self._send(b"READY=1")
        if self._interval_s > 0:
            self._ping()

    def stopping(self) -> None:
        """Report that the service stops; pings go on, because pending answers may take longer than the timeout."""
        if self._address:
            self._send(b"STOPPING=1")

    def _ping(self) -> None:
        self._send(b"WATCHDOG=1")
        asyncio.get_running_loop().call_later(self._interval_s, self._ping)

    def _send(self, state: bytes) -> None:
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.setblocking(False)
                out.sendto(state, address)
        except OSError:  # systemd is gone or its queue is full: the next ping tries again
            return
