"""RocketMQ's request signature.

signature = base64(HMAC-SHA1(secret key, values of all extFields in the order of their names, then the body))

Java: AclClientRPCHook, AclSigner, and DefaultAuthenticationContextBuilder for the server's side. Neither names nor the
request code are signed, and there is no nonce: a reader of the traffic can replay a request. TLS prevents that,
and so does a stamp (`stamp.py`).
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

ACCESS_KEY: Final = "AccessKey"
SECURITY_TOKEN: Final = "SecurityToken"  # noqa: S105 - the name of a field
CHANNEL: Final = "OnsChannel"
SIGNATURE: Final = "Signature"
_VERSION_4_9_3: Final = 399  # clients up to this version do not sign the next field
_UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"


def content_of(ext: Mapping[str, str | None], body: bytes | None, *, version: int | None = None) -> bytes:
    """The signed content. A null value counts as empty: the binary header does not distinguish them."""
    unsigned = {SIGNATURE}
    if version is not None and version <= _VERSION_4_9_3:
        unsigned.add(_UNIQUE_KEY_QUERY)
    names = sorted(ext) if all(map(str.isascii, ext)) else sorted(ext, key=_java_order)
    return _utf8("".join([ext[name] or "" for name in names if name not in unsigned])) + (body or b"")


def sign(content: bytes, secret: str, *, digest: str = "sha1") -> str:
    """The signature, encoded for the header field."""
    import hmac  # noqa: PLC0415 - few sign, and it costs

    return b64encode(hmac.digest(_utf8(secret), content, digest)).decode()


def _java_order(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _utf8(text: str) -> bytes:
    # Java: a lone surrogate becomes a question mark, and adjacent halves of a pair one character
    if text.isascii():
        return text.encode()
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass").encode("utf-8", "replace")
