"""Signed requests, and an identities file."""

import base64
import hashlib
import hmac
from dataclasses import replace
from pathlib import Path

from tests.support.remoting_frames import Request

IDENTITIES = """
[[identity]]
name = "broker-a"
secret = "secret-of-a"
access = ["broker_control"]
clusters = ["c1"]
brokers = ["broker-a"]

[[identity]]
name = "orders"
secret = "secret-of-orders"
access = ["broker_control"]
topics = ["orders-*"]

[[identity]]
name = "fleet"
secret = "secret-of-the-fleet"
access = ["broker_control"]

[[identity]]
name = "client"
secret = "secret-of-client"
access = ["route_read"]

[[identity]]
name = "ops"
access_key = "ops-key"
secret = "secret-of-ops"
access = ["admin_write"]

[[identity]]
name = "far"
secret = "secret-of-far"
access = ["admin_write"]
networks = ["10.0.0.0/8"]

[[identity]]
name = "certified"
access = ["admin_read"]
certificates = ["certified.example"]
"""
SECRETS = {
    "broker-a": "secret-of-a",
    "fleet": "secret-of-the-fleet",
    "orders": "secret-of-orders",
    "client": "secret-of-client",
    "ops-key": "secret-of-ops",
    "far": "secret-of-far",
}


def identities_file(path: Path, text: str = IDENTITIES, *, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def signed(request: Request, access_key: str, secret: str | None = None) -> Request:
    """The request with a signature, computed independently of Routebook's code."""
    ext = {**(request.ext or {}), "AccessKey": access_key}
    content = "".join(ext[name] for name in sorted(ext)).encode() + request.body
    key = (SECRETS[access_key] if secret is None else secret).encode()
    ext["Signature"] = base64.b64encode(hmac.new(key, content, hashlib.sha1).digest()).decode()
    return replace(request, ext=ext)
