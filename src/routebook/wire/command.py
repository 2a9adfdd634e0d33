"""A remoting command: a request or a response, independent of the header format."""

from enum import IntEnum

import msgspec

from routebook.codes import FLAG_ONEWAY, FLAG_RESPONSE, VERSION_5_5_0


class SerializeType(IntEnum):
    """The format of a header: the top byte of a frame's second word."""

    JSON = 0
    ROCKETMQ = 1


class Command(msgspec.Struct, gc=False):
    """Java: RemotingCommand. `ext` and `body` are None if the sender sent none."""

    code: int
    opaque: int
    flag: int = 0
    version: int = VERSION_5_5_0
    language: str | None = "JAVA"
    remark: str | None = None
    ext: dict[str, str | None] | None = None
    body: bytes | None = None

    @property
    def is_response(self) -> bool:
        return bool(self.flag & FLAG_RESPONSE)

    @property
    def is_oneway(self) -> bool:
        return bool(self.flag & FLAG_ONEWAY)

    def field(self, name: str) -> str | None:
        """An extField, or None."""
        return self.ext.get(name) if self.ext else None


class Reply(msgspec.Struct, frozen=True, gc=False):
    """A response; the opaque and the constant fields are added by the encoder.

    `ext` None omits extFields; an empty dict writes `{}`, as Java does for an empty response header.
    """

    code: int = 0
    remark: str | None = None
    ext: dict[str, str] | None = None
    body: bytes | None = None
