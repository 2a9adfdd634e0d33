"""Opens the listening socket, and says why where it cannot."""

import contextlib
import errno
import socket
from pathlib import Path
from typing import Final

from routebook.errors import ListenError

BACKLOG: Final = 1024  # Java: hard-coded
_TCP_LISTEN: Final = "0A"


def open_socket(
    host: str, port: int, *, receive_bytes: int = 0, send_bytes: int = 0, chosen_by: str = "--listen"
) -> socket.socket:
    """A listening socket on the first address of `host`. Sizes of 0 leave the system's. Raises ListenError.

    `chosen_by` is the option that people choose this port with.
    """
    shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, UnicodeError) as error:
        raise ListenError(f"cannot listen on {shown}: {host} is not an address of anything ({error})") from None
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # `::` takes IPv4 as well, as in Java
        for option, size in ((socket.SO_RCVBUF, receive_bytes), (socket.SO_SNDBUF, send_bytes)):
            if size > 0:
                sock.setsockopt(socket.SOL_SOCKET, option, size)  # accepted sockets inherit it
        sock.setblocking(False)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ListenError(f"cannot listen on {shown}: {_reason(error, port, chosen_by)}") from None
    return sock


def _reason(error: OSError, port: int, chosen_by: str) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            holder = find_listener(port)
            who = f"by {holder}" if holder else "by another process"
            return f"the port is in use {who}; stop that one, or choose another port with {chosen_by} HOST:PORT"
        case errno.EACCES:
            return f"this user may not use that port; choose one above 1023 with {chosen_by} HOST:PORT"
        case errno.EADDRNOTAVAIL:
            return f"that address is not one of this machine; choose another with {chosen_by} HOST:PORT"
        case _:
            return error.strerror or str(error)


def find_listener(port: int) -> str | None:
    """Which process listens on a port, where the system tells (Linux, and processes of the same user)."""
    inodes = _listening_inodes(port)
    if not inodes:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it ended meanwhile, or is somebody else's
            if any(_target(handle) in inodes for handle in (process / "fd").iterdir()):
                name = (process / "comm").read_text(errors="replace").strip()
                return f"process {process.name} ({name})"
    return None


def _target(handle: Path) -> str | None:
    try:
        return str(handle.readlink())
    except OSError:
        return None  # closed meanwhile


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
