"""Opening connections: one per NameServer, shared by all who ask it, opened again when it is gone."""

import asyncio
import errno
import socket
import ssl
from typing import Final

from routebook.client.addresses import Address
from routebook.client.link import Link, OnRequest
from routebook.errors import ConnectionFailed, NotANameServer, TimedOut, Unreachable, Untrusted

# How long to wait for the other side's farewell after ours. Java never says it over TLS 1.3.
_TLS_CLOSE_S: Final = 0.05


class Line:
    """The way to one NameServer: at most one open connection, and at most one attempt to open it at a time."""

    def __init__(
        self, address: Address, *, connect_timeout_s: float, tls: ssl.SSLContext | None, on_request: OnRequest | None
    ) -> None:
        self.address = address
        self._connect_timeout_s = connect_timeout_s
        self._tls = tls
        self._on_request = on_request
        self._links: list[Link] = []  # the last one is in use; those before it are on their way out
        self._opening: asyncio.Task[Link] | None = None
        self._closed = False

    def current(self) -> Link | None:
        """The connection, if there is one just now."""
        return self._links[-1] if self._links and not self._links[-1].closed else None

    async def link(self) -> Link:
        """The connection; opened if need be. Who gives up waiting does not take it from others who wait for it, too."""
        if (link := self.current()) is not None:
            return link
        if self._closed:
            raise Unreachable(str(self.address), "was closed on this side")
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name=f"connect to {self.address}")
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    async def aclose(self) -> None:
        """Close every connection, stop opening one, and open no more."""
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
            task.exception()  # taken note of, should all who waited have given up


async def open_link(
    address: Address,
    *,
    connect_timeout_s: float,
    tls: ssl.SSLContext | None = None,
    on_request: OnRequest | None = None,
) -> Link:
    """Connect, with the TLS handshake where TLS is wanted; a ConnectionFailed says why that did not work."""
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
        raise _why_not(str(address), error, connect_timeout_s, tls=tls is not None) from None
    return link


def _why_not(address: str, error: Exception, timeout_s: float, *, tls: bool) -> ConnectionFailed:
    match error:
        case ssl.SSLCertVerificationError():
            return Untrusted(address, f"has a certificate that is not trusted: {error.verify_message}")
        case ssl.SSLError():
            return NotANameServer(address, f"does not speak TLS as wanted ({error.reason or error})")
        case TimeoutError() if error.errno is None:
            return TimedOut(address, f"did not accept a connection within {timeout_s:g} s")
        case socket.gaierror():
            return Unreachable(address, f"the host name is not known ({error.strerror})")
        case ConnectionResetError() | ConnectionAbortedError() if tls:
            return Unreachable(address, "closed the connection during the TLS handshake; it may not speak TLS")
        case OSError() if _refused(error):
            return Unreachable(address, "refused the connection: nothing listens there")
        case OSError():
            return Unreachable(address, f"cannot be reached: {error.strerror or error}")
    return Unreachable(address, f"cannot be reached: {error}")  # ValueError: a host name that cannot be encoded


def _refused(error: OSError) -> bool:
    # several addresses of one host: asyncio puts all that happened into one text
    return error.errno == errno.ECONNREFUSED or (error.errno is None and f"[Errno {errno.ECONNREFUSED}]" in str(error))
