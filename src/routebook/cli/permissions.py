"""Permission bits as people write them: RW, R, W."""

from routebook.codes import PERM_INHERIT, PERM_PRIORITY, PERM_READ, PERM_WRITE
from routebook.errors import UsageError


def permission_text(perm: int) -> str:
    """Java: PermName.perm2String, and P for the bit that it does not show."""
    letters = ((PERM_READ, "R"), (PERM_WRITE, "W"), (PERM_INHERIT, "X"))
    text = "".join(letter if perm & bit else "-" for bit, letter in letters)
    return text + "P" if perm & PERM_PRIORITY else text


def parse_permission(text: str) -> int:
    """`rw`, `r`, `w`, or the number that RocketMQ has for it."""
    names = {"r": PERM_READ, "w": PERM_WRITE, "rw": PERM_READ | PERM_WRITE}
    given = text.strip().lower().rstrip("-")
    if given in names:
        return names[given]
    if given in {"2", "4", "6"}:
        return int(given)
    raise UsageError(f"{text!r} is no permission: give rw, r or w (6, 4 or 2)")
