"""What clients of different make look like to a NameServer."""

from typing import Final

import msgspec

from routebook.codes import VERSION_5_5_0


class Persona(msgspec.Struct, frozen=True, kw_only=True):
    """How one make of client asks for routes."""

    name: str
    version: int
    language: str
    ext: dict[str, str] = {}  # beside `topic`
    empty_remark: bool = False  # sends a remark, and an empty one
    roams: bool = False  # asks another NameServer each time, where others stay with one
    asks_for_default: bool = True  # for TBW102, where its own topic is not there


# The older clients sign every request, with nothing where there are no credentials.
_UNSIGNED: Final = {"AccessKey": "", "OnsChannel": "ALIYUN", "Signature": ""}

PERSONAS: Final = {
    persona.name: persona
    for persona in (
        Persona(name="java", version=VERSION_5_5_0, language="JAVA"),
        Persona(name="go", version=317, language="GO", empty_remark=True, roams=True),
        Persona(name="cpp", version=63, language="CPP", ext=_UNSIGNED),
        Persona(name="node", version=121, language="JAVA", ext=_UNSIGNED, asks_for_default=False),
    )
}
