"""The peer of a connection as a requester: address, host, TLS certificate and identity."""

from typing import TYPE_CHECKING

from routebook.access.identity import Identity, Network, is_within
from routebook.errors import ProtocolError
from routebook.handlers import Caller
from routebook.server.net.limits import Account, Host, Limits
from routebook.server.tls.session import TlsSession

if TYPE_CHECKING:
    from routebook.server.access.authorize import Permit


class Requester:
    """`caller` is what handlers receive, `host` is what limits count."""

    __slots__ = ("account", "caller", "has_sent_request", "host", "look_up_permit", "tls")

    def __init__(self, caller: Caller, host: Host) -> None:
        self.caller = caller
        self.host = host
        self.tls: TlsSession | None = None
        self.has_sent_request = False
        self.account: Account | None = None  # of the identity
        self.look_up_permit: Permit | None = None  # of the last look-up that was permitted

    @property
    def address(self) -> str:
        return self.caller.address

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """The names in the peer's verified certificate."""
        return () if self.tls is None else self.tls.certificate_names

    def is_overdrawn(self, now_ns: int) -> bool:
        """Whether the host or the identity spent more time than its budget: its requests wait for their turn."""
        if self.host.paid_ns <= now_ns and self.account is None:  # usually
            return False
        return self.host.is_overdrawn(now_ns) or (self.account is not None and self.account.is_overdrawn(now_ns))

    def set_identity(self, identity: Identity) -> None:
        """Attribute the current request to this identity."""
        if self.caller.identity is not identity:
            self.account = self.host.identities.setdefault(identity.name, Account())
            self.caller = Caller(self.caller.connection, self.caller.address, identity)

    def set_source(self, source: str, *, limits: Limits, proxies: tuple[Network, ...], has_auth: bool) -> None:
        """Take the source address from a PROXY header. Raises ProtocolError if that host has too many connections.

        Any peer can send such a header. Limits and authorization use it only if it comes from a trusted proxy.
        """
        is_trusted = bool(proxies) and is_within(self.host.name, proxies)
        if is_trusted:
            host = limits.enter(host_of(source))
            if host is None:
                raise ProtocolError("too many connections")
            limits.leave(self.host)
            self.host = host
        if is_trusted or not has_auth:
            self.caller = Caller(self.caller.connection, source)


def format_address(peername: object) -> str:
    """Return `host:port` for the `peername` of a transport."""
    if not isinstance(peername, tuple) or len(peername) < 2:
        return "unknown"
    host, port = peername[0], peername[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def host_of(address: str) -> str:
    return address.rpartition(":")[0].strip("[]") or address
