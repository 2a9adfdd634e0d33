"""Signs requests with an access key and a secret key, as RocketMQ's ACL hook does.

signature = base64(HMAC-SHA1(secret key, values of all extFields in the order of their names, then the body))

Java: AclClientRPCHook and AclSigner of rocketmq-client 5.5.0. That hook sends no OnsChannel; older clients of Alibaba
send ALIYUN, CLOUD or ALL and sign it like any other field: `channel` is for servers that require it.
"""

import secrets
import time
from collections.abc import Mapping

import msgspec

from routebook.access.signature import ACCESS_KEY, CHANNEL, SECURITY_TOKEN, SIGNATURE, content_of, sign
from routebook.access.stamp import STAMP, make_stamp
from routebook.errors import UsageError


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """The keys. The secret key is neither sent nor printed."""

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


def signed(
    ext: Mapping[str, str] | None, body: bytes | None, credentials: Credentials, *, code: int | None = None
) -> dict[str, str]:
    """Return the extFields with the access key and the signature over them and the body; with `code` also a stamp."""
    fields = {**(ext or {}), ACCESS_KEY: credentials.access_key}
    if credentials.security_token is not None:
        fields[SECURITY_TOKEN] = credentials.security_token
    if credentials.channel is not None:
        fields[CHANNEL] = credentials.channel
    if code is not None:
        fields[STAMP] = make_stamp(
            fields,
            body,
            code=code,
            secret=credentials.secret_key,
            now_ms=time.time_ns() // 1_000_000,
            nonce=secrets.token_urlsafe(12),
        )
    fields[SIGNATURE] = sign(content_of(fields, body), credentials.secret_key)
    return fields
