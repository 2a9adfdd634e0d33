"""AccessKey and SecretKey: requests signed as RocketMQ's own ACL hook signs them.

signature = base64(HMAC-SHA1(secret key, values of all extFields in the order of their names, then the body))

Java: AclClientRPCHook and AclSigner of rocketmq-client 5.5.0. That hook sends no OnsChannel; the older ones of
Alibaba's clients do (ALIYUN, CLOUD, ALL) and sign it like any other field: `channel` is for servers that want it.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Final

import msgspec

from routebook.errors import UsageError

ACCESS_KEY: Final = "AccessKey"
SECURITY_TOKEN: Final = "SecurityToken"  # noqa: S105 - the name of a field
CHANNEL: Final = "OnsChannel"
SIGNATURE: Final = "Signature"


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """Who signs. The secret is never sent, and never printed."""

    access_key: str
    secret_key: str
    security_token: str | None = None
    channel: str | None = None

    def __post_init__(self) -> None:
        if not self.access_key or not self.secret_key:
            missing = "access key" if not self.access_key else "secret key"
            raise UsageError(f"credentials need an access key and a secret key: the {missing} is empty")

    def __repr__(self) -> str:
        return f"Credentials(access_key={self.access_key!r}, secret_key=…)"


def signed(ext: Mapping[str, str] | None, body: bytes | None, credentials: Credentials) -> dict[str, str]:
    """The extFields with who signs, and the signature over them and the body."""
    fields = {**(ext or {}), ACCESS_KEY: credentials.access_key}
    if credentials.security_token is not None:
        fields[SECURITY_TOKEN] = credentials.security_token
    if credentials.channel is not None:
        fields[CHANNEL] = credentials.channel
    fields[SIGNATURE] = signature(fields, body, credentials.secret_key)
    return fields


def signature(ext: Mapping[str, str], body: bytes | None, secret_key: str) -> str:
    """The signature over these fields (one that is among them already does not count) and the body."""
    import hmac  # noqa: PLC0415 - few sign, and it costs

    content = "".join(ext[name] for name in sorted(ext, key=_java_order) if name != SIGNATURE)
    return b64encode(hmac.digest(_utf8(secret_key), _utf8(content) + (body or b""), "sha1")).decode()


def _java_order(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _utf8(text: str) -> bytes:
    # Java: half a surrogate pair becomes a question mark, and two halves that meet become one character
    if text.isascii():
        return text.encode()
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass").encode("utf-8", "replace")
