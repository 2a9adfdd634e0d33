"""Parses the column lists of table declarations, such as "ns string, changed map<string, array<int>>"."""


def columns_of(ddl: str) -> list[tuple[str, str]]:
    """The name and type of each column, in order."""
    found = []
    for part in split(ddl):
        name, _, kind = part.partition(" ")
        found.append((name.strip("`"), " ".join(kind.split())))
    return found


def split(text: str) -> list[str]:
    """Split at the commas outside angle brackets."""
    parts: list[str] = []
    depth = begin = 0
    for at, character in enumerate(text):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [part for part in (*parts, text[begin:].strip()) if part]
