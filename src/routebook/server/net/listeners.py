"""Opens the listening socket; errors name the process that uses the port."""

import contextlib
import errno
import socket
from pathlib import Path
from typing import Final

from routebook.errors import ListenError

BACKLOG: Final = 1024  # Java: hard-coded
_TCP_LISTEN: Final = "0A"


def open_socket(
    host: str, port: int, *, receive_bytes: int = 0, send_bytes: int = 0, option: str = "--listen"
) -> socket.socket:
    """Return a listening socket on the first address of `host`. Raises ListenError.

    Buffer sizes of 0 keep the default of the system. `option` is the command-line option that sets this port.
    """
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise ListenError(f"cannot listen on {shown}: the host name is unknown ({error})") from None
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # `::` accepts IPv4 as well, as in Java
        for buffer, size in ((socket.SO_RCVBUF, receive_bytes), (socket.SO_SNDBUF, send_bytes)):
            if size > 0:
                sock.setsockopt(socket.SOL_SOCKET, buffer, size)  # accepted sockets inherit the size
        sock.setblocking(False)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ListenError(f"cannot listen on {shown}: {_reason(error, port, option)}") from None
    return sock


def _reason(error: OSError, port: int, option: str) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            user = find_listener(port) or "another process"
            return f"the port is in use by {user}; stop it, or choose another port with {option} HOST:PORT"
        case errno.EACCES:
            return f"this user may not use the port; choose one above 1023 with {option} HOST:PORT"
        case errno.EADDRNOTAVAIL:
            return f"this machine does not have the address; choose another with {option} HOST:PORT"
        case _:
            return error.strerror or str(error)


def find_listener(port: int) -> str | None:
    """Return the process that listens on a port: on Linux, for processes of the same user."""
    inodes = _listening_inodes(port)
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended, or belongs to another user
            if any(_target(handle) in inodes for handle in (process / "fd").iterdir()):
                name = (process / "comm").read_text(errors="replace").strip()
                return f"process {process.name} ({name})"
    return None


def _target(handle: Path) -> str | None:
    try:
        return str(handle.readlink())
    except OSError:
        return None  # closed by now


def _listening_inodes(port: int) -> set[str]:
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            columns = line.split()
            if columns[3] == _TCP_LISTEN and int(columns[1].rpartition(":")[2], 16) == port:
                found.add(f"socket:[{columns[9]}]")
    return found
