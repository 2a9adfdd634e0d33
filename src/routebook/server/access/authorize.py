"""Asks of every request who sent it and whether they may; only where authentication is on."""

import contextlib
from typing import Protocol

from routebook.access.decision import NOTHING, decide
from routebook.access.identity import Identity
from routebook.access.signature import ACCESS_KEY, SIGNATURE, content_of
from routebook.codes import ResponseCode
from routebook.errors import RequestError
from routebook.handlers import NameServer
from routebook.handlers.targets import target_of
from routebook.server.access.denials import Denials
from routebook.server.access.identities_file import AccessFile
from routebook.server.net.limits import Host
from routebook.wire.command import Command, Reply

_UNSIGNED = "authentication failed: the request is not signed; give the client an access key and a secret key"
_NOT_RIGHT = "authentication failed: check signature failed."  # the same for a wrong key and a wrong secret


class Party(Protocol):
    """A connection, as far as it matters here."""

    @property
    def number(self) -> int: ...

    @property
    def host(self) -> Host: ...

    @property
    def address(self) -> str: ...

    @property
    def certificate_names(self) -> tuple[str, ...]: ...

    def known_as(self, identity: Identity) -> None: ...


class Authority:
    """`refusal` lets a request pass, and tells the connection who it is; or it says why not."""

    def __init__(self, file: AccessFile, nameserver: NameServer, denials: Denials) -> None:
        self._file = file
        self._nameserver = nameserver
        self._denials = denials

    def refusal(self, party: Party, command: Command) -> Reply | None:
        found = self._identify(party, command)
        if not isinstance(found, Identity):
            remark, why = found
            self._denials.denied(code=command.code, why=why, peer=party.address)
            return Reply(code=ResponseCode.NO_PERMISSION, remark=remark)
        target = NOTHING
        if found.is_limited:
            with contextlib.suppress(RequestError):  # its body cannot be read: the handler says so, and changes nothing
                target = target_of(self._nameserver, command)
        wrong = decide(found, command.code, host=party.host.name, target=target)
        if wrong is None:
            party.known_as(found)
            return None
        self._denials.denied(code=command.code, why=wrong, peer=party.address, who=found.name)
        return Reply(code=ResponseCode.NO_PERMISSION, remark=f"authorization failed: {wrong}")

    def _identify(self, party: Party, command: Command) -> Identity | tuple[str, str]:
        """Who it is; or what is answered, and what the record says."""
        identities = self._file.identities
        ext = command.ext or {}
        access_key = ext.get(ACCESS_KEY)
        if access_key and identities.knows(access_key):
            if not identities.can_sign(access_key):
                return (
                    _NOT_RIGHT,
                    f"{access_key} has a hashed secret or none, so it cannot sign: it is for HTTP, or TLS",
                )
            content = content_of(ext, command.body, version=command.version)
            signer = identities.signed(access_key, content, ext.get(SIGNATURE) or "")
            return signer or (_NOT_RIGHT, f"the signature of {access_key} is not right")
        found = identities.certified(party.certificate_names) or identities.anonymous
        if found is not None:  # clients sign for brokers, with keys that mean nothing here
            return found
        if not access_key:
            return _UNSIGNED, "not signed"
        shown = access_key[:64] if access_key.isprintable() else ascii(access_key[:64])
        return _NOT_RIGHT, f"nobody has the access key {shown}"
