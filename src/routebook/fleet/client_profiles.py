"""Client profiles: how clients of different languages look to a NameServer."""

from typing import Final

import msgspec

from routebook.codes import VERSION_5_5_0


class ClientProfile(msgspec.Struct, frozen=True, kw_only=True):
    """How one client library looks up routes."""

    name: str
    version: int
    language: str
    ext: dict[str, str] = {}  # header fields beside `topic`
    empty_remark: bool = False  # sends an empty remark
    roams: bool = False  # uses another NameServer for each look-up; others stay with one
    asks_for_default: bool = True  # looks up TBW102 if its own topic has no route


# The older clients sign every request, with empty fields if there are no credentials.
_UNSIGNED: Final = {"AccessKey": "", "OnsChannel": "ALIYUN", "Signature": ""}

CLIENT_PROFILES: Final = {
    profile.name: profile
    for profile in (
        ClientProfile(name="java", version=VERSION_5_5_0, language="JAVA"),
        ClientProfile(name="go", version=317, language="GO", empty_remark=True, roams=True),
        ClientProfile(name="cpp", version=63, language="CPP", ext=_UNSIGNED),
        ClientProfile(name="node", version=121, language="JAVA", ext=_UNSIGNED, asks_for_default=False),
    )
}
