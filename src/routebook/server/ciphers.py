"""Java's names of TLS ciphers and protocols, put into effect on an OpenSSL context."""

import ssl
from typing import Final

from routebook.errors import TlsError

_PROTOCOLS: Final = {
    "TLSv1": (ssl.TLSVersion.TLSv1, ssl.OP_NO_TLSv1),
    "TLSv1.1": (ssl.TLSVersion.TLSv1_1, ssl.OP_NO_TLSv1_1),
    "TLSv1.2": (ssl.TLSVersion.TLSv1_2, ssl.OP_NO_TLSv1_2),
    "TLSv1.3": (ssl.TLSVersion.TLSv1_3, ssl.OP_NO_TLSv1_3),
}
_TLS13_CIPHERS: Final = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_CCM_SHA256",
    "TLS_AES_128_CCM_8_SHA256",
}


def restrict_protocols(context: ssl.SSLContext, names: str | None) -> None:
    """`names` as in tls.protocols: comma-separated; None leaves OpenSSL's default, TLS 1.2 and 1.3."""
    wanted = _names(names)
    if not wanted:
        return
    for name in wanted:
        if name not in _PROTOCOLS:
            raise TlsError(f"tls.protocols: {name!r} is unknown; known are {', '.join(_PROTOCOLS)}")
    versions = [_PROTOCOLS[name][0] for name in _PROTOCOLS if name in wanted]
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    for name, (version, switch_off) in _PROTOCOLS.items():
        if versions[0] < version < versions[-1] and name not in wanted:
            context.options |= switch_off


def restrict_ciphers(context: ssl.SSLContext, names: str | None) -> None:
    """`names` as in tls.ciphers: comma-separated, Java's or OpenSSL's names; None leaves OpenSSL's default.

    Python cannot choose among the ciphers of TLS 1.3: they are all on if one is named, and 1.3 is off if none is.
    """
    wanted = _names(names)
    if not wanted:
        return
    older = [_openssl_name(name) for name in wanted if name not in _TLS13_CIPHERS]
    for given, name in zip((n for n in wanted if n not in _TLS13_CIPHERS), older, strict=True):
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).set_ciphers(name)
        except ssl.SSLError:
            raise TlsError(f"tls.ciphers: {given!r} is unknown to this machine's OpenSSL") from None
    if older:
        context.set_ciphers(":".join(older))
    if len(older) == len(wanted):
        context.options |= ssl.OP_NO_TLSv1_3
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
