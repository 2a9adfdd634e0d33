"""TLS contexts of the client, with and without verification of the server."""

import ssl
from os import PathLike
from typing import TypeAlias

from routebook.errors import UsageError

File: TypeAlias = str | PathLike[str]


def trusted_tls(*, ca: File | None = None, cert: File | None = None, key: File | None = None) -> ssl.SSLContext:
    """Return a context that verifies the server against `ca` or the system CAs, with a client certificate if given."""
    try:
        context = ssl.create_default_context(cafile=ca)
        if cert is not None:
            context.load_cert_chain(cert, key)
    except OSError as error:
        raise UsageError(f"cannot use TLS files ({ca or cert}): {error.strerror or error}") from None
    return context


def unverified_tls(*, cert: File | None = None, key: File | None = None) -> ssl.SSLContext:
    """Return a context that does not verify the server, the default of Java clients."""
    context = trusted_tls(cert=cert, key=key)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
