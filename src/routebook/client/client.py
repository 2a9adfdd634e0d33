"""A client of several NameServers with failover: it keeps using one until that one fails."""

import asyncio
import ssl
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

import msgspec

from routebook.client.addresses import Address, Addresses, parse_address, parse_addresses
from routebook.client.calls import NameServerCalls
from routebook.client.exchange import Exchange
from routebook.client.link import OnRequest
from routebook.client.requests import Request, error_of
from routebook.codes import FLAG_ONEWAY, VERSION_5_5_0, ResponseCode
from routebook.errors import NotANameServer, ProtocolError, RoutebookError, UsageError
from routebook.wire.command import Command, SerializeType

if TYPE_CHECKING:
    from routebook.client.signing import Credentials

T = TypeVar("T")

DEFAULT_TIMEOUT_S: Final = 3.0  # Java: mqClientApiTimeout and connectTimeoutMillis


class Identity(msgspec.Struct, frozen=True):
    """RocketMQ version and language in request headers; the version affects the format of some responses."""

    version: int = VERSION_5_5_0
    language: str = "PYTHON"


class Everywhere(msgspec.Struct, Generic[T], frozen=True):
    """Results and failures of an operation on all NameServers, by address."""

    answers: dict[str, T]
    failures: dict[str, RoutebookError]

    def all(self) -> dict[str, T]:
        """Return all results; raises the first failure."""
        for failure in self.failures.values():
            raise failure
        return self.answers


class _Caller(NameServerCalls):
    """Sends requests over an exchange, to the addresses that `_order` returns."""

    def __init__(self, exchange: Exchange, identity: Identity, timeout_s: float) -> None:
        self._exchange = exchange
        self._identity = identity
        self.timeout_s = timeout_s

    @abstractmethod
    def _order(self) -> Sequence[Address]: ...

    async def call(self, command: Command, *, timeout_s: float | None = None) -> Command:
        answer, _ = await self._perform(command, timeout_s)
        return answer

    async def ask(self, request: Request[T], *, timeout_s: float | None = None) -> T:
        answer, address = await self._perform(self._command(request), timeout_s)
        if answer.code != ResponseCode.SUCCESS:
            raise error_of(answer, address)
        try:
            return request.read(answer)
        except ProtocolError as error:
            raise NotANameServer(str(address), f"sent an invalid response: {error}") from None

    async def tell(self, request: Request[T], *, timeout_s: float | None = None) -> None:
        await self._perform(self._command(request, flag=FLAG_ONEWAY), timeout_s)

    async def _perform(self, command: Command, timeout_s: float | None) -> tuple[Command, Address]:
        limit_s = self.timeout_s if timeout_s is None else timeout_s
        return await self._exchange.perform(command, self._order(), timeout_s=limit_s)

    def _command(self, request: Request[T], *, flag: int = 0) -> Command:
        ext: dict[str, str | None] | None = None if request.ext is None else {**request.ext}
        identity = self._identity
        return Command(request.code, 0, flag, identity.version, identity.language, None, ext, request.body)


class OneNameServer(_Caller):
    """One NameServer of a client, over the client's connection."""

    def __init__(self, address: Address, exchange: Exchange, identity: Identity, timeout_s: float) -> None:
        super().__init__(exchange, identity, timeout_s)
        self.address = address

    def _order(self) -> Sequence[Address]:
        return (self.address,)


class NameServerClient(_Caller):
    """Sends each request to one of several NameServers, the same one until it fails.

    A call takes at most `timeout_s`. It tries every address at most once, each with a share of the remaining time. A
    response with any code ends the call; only a failed connection leads to the next address. `tls=True` verifies
    servers against the system CAs; pass a context for anything else. `on_request` receives requests that a server
    sends.
    """

    def __init__(
        self,
        addresses: Addresses,
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        connect_timeout_s: float = DEFAULT_TIMEOUT_S,
        tls: ssl.SSLContext | bool | None = None,
        credentials: "Credentials | None" = None,
        shuffle: bool = True,
        identity: Identity | None = None,
        serialize_type: SerializeType = SerializeType.JSON,
        on_request: OnRequest | None = None,
    ) -> None:
        self.addresses = parse_addresses(addresses)
        exchange = Exchange(
            self.addresses,
            shuffle=shuffle,
            connect_timeout_s=connect_timeout_s,
            tls=_context(tls),
            credentials=credentials,
            serialize_type=serialize_type,
            on_request=on_request,
        )
        super().__init__(exchange, identity or Identity(), timeout_s)

    @property
    def chosen(self) -> Address:
        """The NameServer that is tried first."""
        return self._exchange.rotation.chosen

    def at(self, address: str | Address) -> OneNameServer:
        """Return a client of one of the addresses, without failover."""
        wanted = address if isinstance(address, Address) else parse_address(address)
        if wanted not in self.addresses:
            known = ";".join(map(str, self.addresses))
            raise UsageError(f"{wanted} is not among the addresses of this client ({known})")
        return OneNameServer(wanted, self._exchange, self._identity, self.timeout_s)

    async def everywhere(self, do: Callable[[OneNameServer], Awaitable[T]]) -> Everywhere[T]:
        """Run `do` for every NameServer at once, as mqadmin does for KV, settings and permissions.

        Results and failures are in the order of the addresses.
        """
        answers: dict[str, T] = {}
        failures: dict[str, RoutebookError] = {}

        async def one(server: OneNameServer) -> None:
            try:
                answers[str(server.address)] = await do(server)
            except RoutebookError as error:
                failures[str(server.address)] = error

        await asyncio.gather(*(one(self.at(address)) for address in self.addresses))
        order = [str(address) for address in self.addresses]
        return Everywhere(
            {name: answers[name] for name in order if name in answers},
            {name: failures[name] for name in order if name in failures},
        )

    async def aclose(self) -> None:
        """Close all connections; later requests fail."""
        await self._exchange.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _order(self) -> Sequence[Address]:
        return self._exchange.rotation.order()


def _context(tls: ssl.SSLContext | bool | None) -> ssl.SSLContext | None:
    if isinstance(tls, ssl.SSLContext):
        return tls
    return ssl.create_default_context() if tls else None
