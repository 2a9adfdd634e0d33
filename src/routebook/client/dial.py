"""Opens connections: one per NameServer, shared by all requests, reopened after a loss."""

import asyncio
import errno
import socket
import ssl
from typing import Final

from routebook.client.addresses import Address
from routebook.client.link import Link, OnRequest
from routebook.errors import ConnectionFailed, NotANameServer, TimedOut, Unreachable, Untrusted

# Wait for the peer's close_notify; Java does not send it over TLS 1.3.
_TLS_CLOSE_S: Final = 0.05


class Line:
    """The connection to one NameServer: at most one is open, and at most one attempt to open it is running."""

    def __init__(
        self, address: Address, *, connect_timeout_s: float, tls: ssl.SSLContext | None, on_request: OnRequest | None
    ) -> None:
        self.address = address
        self._connect_timeout_s = connect_timeout_s
        self._tls = tls
        self._on_request = on_request
        self._links: list[Link] = []  # the last one is in use; earlier ones are closing
        self._opening: asyncio.Task[Link] | None = None
        self._closed = False

    def current(self) -> Link | None:
        """Return the open connection, if any."""
        return self._links[-1] if self._links and not self._links[-1].closed else None

    async def link(self) -> Link:
        """Return the connection, opened if necessary. Cancelling one caller does not affect others that wait."""
        if (link := self.current()) is not None:
            return link
        if self._closed:
            raise Unreachable(str(self.address), "was closed by this client")
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name=f"connect to {self.address}")
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    async def aclose(self) -> None:
        """Close all connections and open no more."""
        self._closed = True
        if self._opening is not None:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)
        for link in self._links:
            await link.aclose()
        self._links.clear()

    async def _open(self) -> Link:
        link = await open_link(
            self.address, connect_timeout_s=self._connect_timeout_s, tls=self._tls, on_request=self._on_request
        )
        self._links = [*(old for old in self._links if not old.gone), link]
        return link

    def _opened(self, task: asyncio.Task[Link]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # marked as retrieved, in case all callers were cancelled


async def open_link(
    address: Address,
    *,
    connect_timeout_s: float,
    tls: ssl.SSLContext | None = None,
    on_request: OnRequest | None = None,
) -> Link:
    """Connect, with a TLS handshake if `tls` is given. Raises ConnectionFailed."""
    loop = asyncio.get_running_loop()
    link = Link(address, on_request)
    try:
        async with asyncio.timeout(connect_timeout_s):
            if tls is None:
                await loop.create_connection(lambda: link, address.host, address.port)
            else:
                await loop.create_connection(
                    lambda: link,
                    address.host,
                    address.port,
                    ssl=tls,
                    server_hostname=address.host,
                    ssl_shutdown_timeout=_TLS_CLOSE_S,
                )
    except (OSError, ValueError) as error:
        raise _failure(str(address), error, connect_timeout_s, tls=tls is not None) from None
    return link


def _failure(address: str, error: Exception, timeout_s: float, *, tls: bool) -> ConnectionFailed:
    match error:
        case ssl.SSLCertVerificationError():
            return Untrusted(address, f"has a certificate that is not trusted: {error.verify_message}")
        case ssl.SSLError():
            return NotANameServer(address, f"TLS handshake failed ({error.reason or error})")
        case TimeoutError() if error.errno is None:
            return TimedOut(address, f"did not accept a connection within {timeout_s:g} s")
        case socket.gaierror():
            return Unreachable(address, f"unknown host name ({error.strerror})")
        case ConnectionResetError() | ConnectionAbortedError() if tls:
            return Unreachable(address, "closed the connection during the TLS handshake; it may not support TLS")
        case OSError() if _is_refused(error):
            return Unreachable(address, "refused the connection: nothing listens there")
        case OSError():
            return Unreachable(address, f"cannot be reached: {error.strerror or error}")
    return Unreachable(address, f"cannot be reached: {error}")  # ValueError: an invalid host name


def _is_refused(error: OSError) -> bool:
    # several addresses of one host: asyncio joins all errors into one text
    return error.errno == errno.ECONNREFUSED or (error.errno is None and f"[Errno {errno.ECONNREFUSED}]" in str(error))
