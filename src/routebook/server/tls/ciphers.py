"""Restricts a TLS context to protocols and ciphers, which may have their Java names."""

import ssl
from typing import Final

from routebook.errors import TlsError

_PROTOCOLS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_TLS13_CIPHERS: Final = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_CCM_SHA256",
    "TLS_AES_128_CCM_8_SHA256",
}


def restrict_protocols(context: ssl.SSLContext, names: str | None) -> None:
    """Allow the comma-separated protocols of routebook.tls.protocols; none: OpenSSL's default, TLS 1.2 and 1.3."""
    wanted = _names(names)
    if not wanted:
        return
    for name in wanted:
        if name not in _PROTOCOLS:  # TLS 1.0 and 1.1 are insecure, and OpenSSL disables them
            raise TlsError(f"routebook.tls.protocols: {name!r} is unknown; known are {' and '.join(_PROTOCOLS)}")
    versions = [version for name, version in _PROTOCOLS.items() if name in wanted]
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def restrict_ciphers(context: ssl.SSLContext, names: str | None) -> None:
    """Allow the comma-separated ciphers of routebook.tls.ciphers, in Java's or OpenSSL's names; none: the default.

    Python cannot select single ciphers of TLS 1.3: one name enables all of them, and without one 1.3 is disabled.
    """
    wanted = _names(names)
    if not wanted:
        return
    older = {name: _openssl_name(name) for name in wanted if name not in _TLS13_CIPHERS}
    for name, openssl_name in older.items():
        try:
            context.set_ciphers(openssl_name)
        except ssl.SSLError:
            raise TlsError(f"routebook.tls.ciphers: {name!r} is unknown to this machine's OpenSSL") from None
    if older:
        context.set_ciphers(":".join(older.values()))
    if len(older) == len(wanted):
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if not older:
        context.minimum_version = ssl.TLSVersion.TLSv1_3


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _openssl_name(name: str) -> str:
    """TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 → ECDHE-RSA-AES128-GCM-SHA256."""
    if not name.startswith("TLS_"):
        return name
    name = name.removeprefix("TLS_").removeprefix("RSA_WITH_").replace("_WITH_", "_")
    name = name.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "")
    return name.replace("CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305").replace("_", "-")
