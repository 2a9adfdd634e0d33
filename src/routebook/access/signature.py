"""RocketMQ's signature: what is signed, and how.

signature = base64(HMAC-SHA1(secret key, values of all extFields in the order of their names, then the body))

Java: AclClientRPCHook, AclSigner, and DefaultAuthenticationContextBuilder for the server's side. Neither names nor the
request code are signed, and nothing makes one request differ from the same one later: who can read the wire can send
a request again. Where that matters there is TLS.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

ACCESS_KEY: Final = "AccessKey"
SECURITY_TOKEN: Final = "SecurityToken"  # noqa: S105 - the name of a field
CHANNEL: Final = "OnsChannel"
SIGNATURE: Final = "Signature"
_VERSION_4_9_3: Final = 399  # up to this one clients do not sign the next field
_UNIQUE_KEY_QUERY: Final = "_UNIQUE_KEY_QUERY"


def content_of(ext: Mapping[str, str | None], body: bytes | None, *, version: int | None = None) -> bytes:
    """What is signed. A field without a value counts as empty: the binary header cannot tell the two apart."""
    left_out = {SIGNATURE}
    if version is not None and version <= _VERSION_4_9_3:
        left_out.add(_UNIQUE_KEY_QUERY)
    names = sorted(ext) if all(map(str.isascii, ext)) else sorted(ext, key=_java_order)
    return _utf8("".join([ext[name] or "" for name in names if name not in left_out])) + (body or b"")


def sign(content: bytes, secret: str) -> str:
    """The signature as it stands in the field."""
    import hmac  # noqa: PLC0415 - few sign, and it costs

    return b64encode(hmac.digest(_utf8(secret), content, "sha1")).decode()


def _java_order(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _utf8(text: str) -> bytes:
    # Java: half a surrogate pair becomes a question mark, and two halves that meet become one character
    if text.isascii():
        return text.encode()
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass").encode("utf-8", "replace")
