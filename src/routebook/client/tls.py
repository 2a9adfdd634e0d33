"""TLS on the client's side: verified unless somebody asks for less."""

import ssl
from os import PathLike
from typing import TypeAlias

from routebook.errors import UsageError

File: TypeAlias = str | PathLike[str]


def trusted_tls(*, ca: File | None = None, cert: File | None = None, key: File | None = None) -> ssl.SSLContext:
    """A context that verifies the server: against `ca`, or the system's; with a certificate of our own if given."""
    try:
        context = ssl.create_default_context(cafile=ca)
        if cert is not None:
            context.load_cert_chain(cert, key)
    except OSError as error:
        raise UsageError(f"TLS files cannot be used ({ca or cert}): {error.strerror or error}") from None
    return context


def unverified_tls(*, cert: File | None = None, key: File | None = None) -> ssl.SSLContext:
    """A context that takes any server for what it says it is, as Java's clients do unless told otherwise."""
    context = trusted_tls(cert=cert, key=key)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
