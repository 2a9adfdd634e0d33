"""One remoting command: a request or a response, whichever header form it came in."""

import msgspec

from routebook.codes import FLAG_ONEWAY, FLAG_RESPONSE, VERSION_5_5_0


class Command(msgspec.Struct, gc=False):
    """Java: RemotingCommand. `ext` and `body` are None where the sender sent none."""

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
