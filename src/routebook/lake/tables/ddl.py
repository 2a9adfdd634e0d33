"""Column lists as tables declare them ("ns string, changed map<string, array<int>>"), taken apart."""


def columns_of(ddl: str) -> list[tuple[str, str]]:
    """Each column's name and type, in order."""
    found = []
    for part in split(ddl):
        name, _, kind = part.partition(" ")
        found.append((name.strip("`"), " ".join(kind.split())))
    return found


def split(text: str) -> list[str]:
    """Cut at the commas that stand in no brackets."""
    parts: list[str] = []
    depth = begin = 0
    for at, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [part for part in (*parts, text[begin:].strip()) if part]
