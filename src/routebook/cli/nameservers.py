"""Which NameServers a command talks to, and how: the options that all such commands share."""

import asyncio
from collections.abc import Coroutine
from typing import Annotated, Any, Final, TypeVar

import msgspec

from routebook.cli.environment import ACCESS_KEY, SECRET_KEY
from routebook.cli.parameters import Option
from routebook.client.addresses import Address, addresses_from_environment, parse_addresses
from routebook.client.client import DEFAULT_TIMEOUT_S, NameServerClient
from routebook.errors import UsageError

T = TypeVar("T")

_DEFAULT: Final = "127.0.0.1:9876"
_PANEL: Final = "How to connect"


class Connecting(msgspec.Struct, frozen=True):
    """How to connect."""

    timeout_s: Annotated[
        float, Option(("--timeout",), "How long to wait for each answer (3 seconds).", "SECONDS", _PANEL)
    ] = DEFAULT_TIMEOUT_S
    tls: Annotated[bool, Option(("--tls",), "Speak TLS, and verify the server.", None, _PANEL)] = False
    tls_ca: Annotated[
        str | None,
        Option(("--tls-ca",), "Who signed the server's certificate (the system's authorities).", "FILE", _PANEL),
    ] = None
    tls_cert: Annotated[str | None, Option(("--tls-cert",), "Our own certificate.", "FILE", _PANEL)] = None
    tls_key: Annotated[str | None, Option(("--tls-key",), "The key of our certificate.", "FILE", _PANEL)] = None
    tls_insecure: Annotated[
        bool, Option(("--tls-insecure",), "Speak TLS, and take any server, as Java's clients do.", None, _PANEL)
    ] = False
    access_key: Annotated[str | None, Option(("--access-key",), f"Sign requests ({ACCESS_KEY}).", "KEY", _PANEL)] = None
    secret_key: Annotated[
        str | None,
        Option(("--secret-key",), f"Better in {SECRET_KEY}: others can see command lines.", "KEY", _PANEL),
    ] = None

    def client_of(self, addresses: str | tuple[Address, ...]) -> NameServerClient:
        """A client of these."""
        if self.timeout_s <= 0:
            raise UsageError(f"--timeout {self.timeout_s:g}: give a number of seconds above 0")
        return NameServerClient(
            addresses,
            timeout_s=self.timeout_s,
            connect_timeout_s=self.timeout_s,
            shuffle=False,  # people expect the first of the list to be asked
            tls=self.tls_context(),
            credentials=self.credentials(),
        )

    def tls_context(self) -> Any:
        """An SSLContext where TLS is wanted."""
        if not (self.tls or self.tls_insecure or self.tls_ca or self.tls_cert):
            return None
        from routebook.client.tls import trusted_tls, unverified_tls

        if self.tls_insecure:
            return unverified_tls(cert=self.tls_cert, key=self.tls_key)
        return trusted_tls(ca=self.tls_ca, cert=self.tls_cert, key=self.tls_key)

    def credentials(self) -> Any:
        """Who signs, by options or environment; None: nobody."""
        import os

        access = self.access_key or os.environ.get(ACCESS_KEY)
        secret = self.secret_key or os.environ.get(SECRET_KEY)
        if not access and not secret:
            return None
        from routebook.client.signing import Credentials

        return Credentials(access_key=access or "", secret_key=secret or "")


class NameServers(Connecting, frozen=True):
    """Which NameServers, and how to connect."""

    nameserver: Annotated[
        str | None,
        Option(("-n", "--nameserver"), f"HOST:PORT;HOST:PORT... (NAMESRV_ADDR, or {_DEFAULT}).", "LIST", _PANEL),
    ] = None

    def addresses(self) -> tuple[Address, ...]:
        """All of them, in the order given."""
        if self.nameserver is not None:
            return parse_addresses(self.nameserver)
        return addresses_from_environment() or parse_addresses(_DEFAULT)

    def client(self) -> NameServerClient:
        """A client of all of them; the first that answers is asked."""
        return self.client_of(self.addresses())


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work in an event loop of its own."""
    return asyncio.run(work)
