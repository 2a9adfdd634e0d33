"""An identities file: an administrator, a reader, a broker, and an administrator of one cluster."""

from pathlib import Path
from typing import Final

ADMIN: Final = ("root", "open sesame")
READER: Final = ("reader", "just looking")
BROKER: Final = ("broker", "registers here")
LIMITED: Final = ("limited", "only cluster c2")

_TEXT: Final = """
[[identity]]
name = "root"
secret = "open sesame"
access = ["admin_write"]

[[identity]]
name = "reader"
secret = "just looking"
access = ["route_read"]

[[identity]]
name = "broker"
secret = "registers here"
access = ["broker_control"]

[[identity]]
name = "limited"
secret = "only cluster c2"
access = ["admin_write", "broker_control"]
clusters = ["c2"]
"""


def write_identities(folder: Path, *, anonymous: bool = True) -> Path:
    """Write the file. With `anonymous`, unsigned clients may look up routes."""
    path = folder / "identities.toml"
    path.write_text(('anonymous = ["route_read"]\n' if anonymous else "") + _TEXT)
    path.chmod(0o600)
    return path
