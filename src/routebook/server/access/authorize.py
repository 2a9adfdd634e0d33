"""Authentication and authorization of requests on the NameServer port and the Controller port."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from routebook.access.classes import Access
from routebook.access.decision import NOTHING, Target, decide
from routebook.access.identities import Identities
from routebook.access.identity import Identity
from routebook.access.signature import ACCESS_KEY, SIGNATURE, content_of
from routebook.access.stamp import STAMP, SeenStamps, read_stamp, stamped_content
from routebook.codes import ResponseCode
from routebook.errors import RequestError
from routebook.server.access.denials import Denials
from routebook.server.access.identities_file import IdentitiesFile
from routebook.wire.command import Command, Reply

_UNSIGNED = "authentication failed: the request is not signed; give the client an access key and a secret key"
_WRONG_SIGNATURE = "authentication failed: check signature failed."  # the same for a wrong key and a wrong secret


@dataclass(frozen=True, slots=True)
class AccessRules:
    """What the requests of one port need. `target` may raise RequestError."""

    needed: Callable[[Command], tuple[Access, ...]]
    target: Callable[[Command], Target]


@dataclass(frozen=True, slots=True, eq=False)
class Permit:
    """A look-up with this signer was permitted to a connection.

    A signature does not cover the opaque, and a connection keeps its address and certificate: the same request over the
    same connection is permitted while the identities stay the same.
    """

    identities: Identities
    signer: str | None  # access key; None: the identity is that of the connection


class Authorizer:
    """Finds the identity of each request and checks its permissions. Exists only if authentication is on."""

    def __init__(
        self,
        file: IdentitiesFile,
        rules: AccessRules,
        denials: Denials,
        *,
        wall_ms: Callable[[], int],
        require_tls: frozenset[str] = frozenset(),
        require_stamp: frozenset[str] = frozenset(),
    ) -> None:
        """Requests that need a class of `require_tls` are denied without TLS, of `require_stamp` without a stamp."""
        self._file = file
        self._rules = rules
        self._denials = denials
        self._require_tls = require_tls
        self._require_stamp = require_stamp
        self._wall_ms = wall_ms
        self._stamps = SeenStamps(wall_ms())
        self._permits: dict[str | None, Permit] = {}  # of one set of identities

    def authorize(
        self, command: Command, *, peer: str, host: str, certificate_names: tuple[str, ...], is_tls: bool = False
    ) -> Identity | Reply:
        """Return the identity that the request is permitted to, or the answer that denies it."""
        found = self._identify(command, certificate_names)
        if not isinstance(found, Identity):
            remark, why = found
            self._denials.denied(code=command.code, why=why, peer=peer)
            return Reply(code=ResponseCode.NO_PERMISSION, remark=remark)
        target = NOTHING
        if found.is_limited:
            with contextlib.suppress(RequestError):  # an invalid body: the handler rejects it and changes nothing
                target = self._rules.target(command)
        needed = self._rules.needed(command)
        wrong = decide(found, needed, host=host, target=target)
        if wrong is None and not is_tls and self._require_tls:
            encrypted = [access for access in needed if access in self._require_tls and found.may(access)]
            wrong = f"{encrypted[0]} needs TLS (routebook.auth.requireTls)" if encrypted else None
        if wrong is None and self._require_stamp and not certificate_names and (command.ext or {}).get(STAMP) is None:
            stamped = [access for access in needed if access in self._require_stamp and found.may(access)]
            wrong = f"{stamped[0]} needs a stamped signature (routebook.auth.requireStamp)" if stamped else None
        if wrong is None:
            return found
        self._denials.denied(code=command.code, why=wrong, peer=peer, who=found.name)
        return Reply(code=ResponseCode.NO_PERMISSION, remark=f"authorization failed: {wrong}")

    def permit(self, command: Command) -> Permit | None:
        """The permit of a look-up that was authorized: one object per signer and set of identities.

        None for a stamped request: it is valid once, so that each must be checked.
        """
        if (command.ext or {}).get(STAMP) is not None:
            return None
        identities = self._file.identities
        access_key = (command.ext or {}).get(ACCESS_KEY)
        signer = access_key if access_key and identities.has_access_key(access_key) else None
        permit = self._permits.get(signer)
        if permit is None or permit.identities is not identities:
            if permit is not None:
                self._permits.clear()
            permit = self._permits[signer] = Permit(identities, signer)
        return permit

    def is_in_force(self, permit: Permit) -> bool:
        return permit.identities is self._file.identities

    def _stamp_problem(self, command: Command, access_key: str) -> str | None:
        """What is wrong with the stamp of a signed request, if it has one."""
        ext = command.ext or {}
        text = ext.get(STAMP)
        if text is None:
            return None
        stamp = read_stamp(text)
        if stamp is not None:
            content = stamped_content(ext, command.body, code=command.code, time_ms=stamp.time_ms, nonce=stamp.nonce)
            if self._file.identities.verify(access_key, content, stamp.mac, digest="sha256") is not None:
                return self._stamps.problem(access_key, stamp, self._wall_ms())
        return "the stamp does not belong to this request"

    def _identify(self, command: Command, certificate_names: tuple[str, ...]) -> Identity | tuple[str, str]:
        """Return the identity, or the remark for the peer and the reason for the record."""
        identities = self._file.identities
        ext = command.ext or {}
        access_key = ext.get(ACCESS_KEY)
        if access_key and identities.has_access_key(access_key):
            if not identities.can_sign(access_key):
                return (
                    _WRONG_SIGNATURE,
                    f"{access_key} has a hashed secret or none and cannot sign; it is for HTTP or TLS",
                )
            content = content_of(ext, command.body, version=command.version)
            signer = identities.verify(access_key, content, ext.get(SIGNATURE) or "")
            if signer is None:
                return _WRONG_SIGNATURE, f"the signature of {access_key} is wrong"
            problem = self._stamp_problem(command, access_key)
            return signer if problem is None else (f"authentication failed: {problem}", f"{access_key}: {problem}")
        found = identities.by_certificate(certificate_names) or identities.anonymous
        if found is not None:  # clients sign for brokers, with keys that this NameServer does not have
            return found
        if not access_key:
            return _UNSIGNED, "not signed"
        shown = access_key[:64] if access_key.isprintable() else ascii(access_key[:64])
        return _WRONG_SIGNATURE, f"unknown access key {shown}"
