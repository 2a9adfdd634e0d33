"""Options of commands that connect to NameServers: addresses, timeout, TLS and credentials."""

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from routebook.cli.framework import all_of, flag, option, options_as
from routebook.client.addresses import Address, addresses_from_environment, parse_addresses
from routebook.client.client import DEFAULT_TIMEOUT_S, NameServerClient
from routebook.errors import UsageError

if TYPE_CHECKING:
    from routebook.client.signing import Credentials

T = TypeVar("T")

ACCESS_KEY: Final = "ROCKETMQ_ACCESS_KEY"
SECRET_KEY: Final = "ROCKETMQ_SECRET_KEY"  # noqa: S105 - the name of a variable
DEFAULT_ADDRESS: Final = "127.0.0.1:9876"
_HEADING: Final = "Connection"


class ConnectionOptions(msgspec.Struct, frozen=True):
    """How to connect to a NameServer."""

    timeout_s: float = DEFAULT_TIMEOUT_S
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_insecure: bool = False
    access_key: str | None = None
    secret_key: str | None = None

    def client_of(self, addresses: str | tuple[Address, ...]) -> NameServerClient:
        """Return a client of these addresses."""
        if self.timeout_s <= 0:
            raise UsageError(f"--timeout {self.timeout_s:g}: must be greater than 0")
        return NameServerClient(
            addresses,
            timeout_s=self.timeout_s,
            connect_timeout_s=self.timeout_s,
            shuffle=False,  # users expect the first address to be asked first
            tls=self.tls_context(),
            credentials=self.credentials(),
        )

    def tls_context(self) -> ssl.SSLContext | None:
        """Return a TLS context if an option asks for TLS."""
        if not (self.tls or self.tls_insecure or self.tls_ca or self.tls_cert):
            return None
        from routebook.client.tls import trusted_tls, unverified_tls

        if self.tls_insecure:
            return unverified_tls(cert=self.tls_cert, key=self.tls_key)
        return trusted_tls(ca=self.tls_ca, cert=self.tls_cert, key=self.tls_key)

    def credentials(self) -> "Credentials | None":
        """Return the keys given by options or environment; None if there are none."""
        access = self.access_key or os.environ.get(ACCESS_KEY)
        secret = self.secret_key or os.environ.get(SECRET_KEY)
        if not access and not secret:
            return None
        from routebook.client.signing import Credentials

        return Credentials(access_key=access or "", secret_key=secret or "")


class NameServerOptions(ConnectionOptions, frozen=True):
    """Which NameServers to connect to, and how."""

    nameserver: str | None = None

    def addresses(self) -> tuple[Address, ...]:
        """Return all addresses in the order given."""
        return nameserver_addresses(self.nameserver)

    def query(self, ask: Callable[[NameServerClient], Awaitable[T]]) -> T:
        """Run `ask` with a client of all addresses; the first that responds is used."""

        async def work() -> T:
            async with self.client_of(self.addresses()) as client:
                return await ask(client)

        return asyncio.run(work())


def nameserver_addresses(given: str | None) -> tuple[Address, ...]:
    """Return the addresses of an option, else of NAMESRV_ADDR, else the default."""
    if given is not None:
        return parse_addresses(given)
    return addresses_from_environment() or parse_addresses(DEFAULT_ADDRESS)


nameserver_option = option(
    "-n",
    "--nameserver",
    metavar="LIST",
    heading=_HEADING,
    help=f"NameServers as HOST:PORT;HOST:PORT [NAMESRV_ADDR, or {DEFAULT_ADDRESS}].",
)
_CREDENTIALS: Final = (
    option("--access-key", metavar="KEY", heading=_HEADING, help=f"Access key that signs requests [{ACCESS_KEY}]."),
    option(
        "--secret-key",
        metavar="KEY",
        heading=_HEADING,
        help=f"Secret key; prefer {SECRET_KEY}, because other users can read command lines.",
    ),
)
_CONNECTION: Final = (
    option(
        "--timeout",
        "timeout_s",
        type=float,
        default=DEFAULT_TIMEOUT_S,
        metavar="SECONDS",
        heading=_HEADING,
        help=f"Timeout of each request [{DEFAULT_TIMEOUT_S:g}].",
    ),
    flag("--tls", heading=_HEADING, help="Use TLS and verify the server."),
    option("--tls-ca", metavar="FILE", heading=_HEADING, help="CA that signed the server's certificate [system CAs]."),
    option("--tls-cert", metavar="FILE", heading=_HEADING, help="Client certificate."),
    option("--tls-key", metavar="FILE", heading=_HEADING, help="Key of the client certificate."),
    flag("--tls-insecure", heading=_HEADING, help="Use TLS without verifying the server, as Java clients do."),
    *_CREDENTIALS,
)


def credential_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --access-key and --secret-key."""
    return all_of(_CREDENTIALS, function)


connection_options = options_as(ConnectionOptions, "connection", _CONNECTION)
nameserver_options = options_as(NameServerOptions, "servers", (nameserver_option, *_CONNECTION))
