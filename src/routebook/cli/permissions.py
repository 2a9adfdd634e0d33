"""Queue permissions as text: RW, R, W."""

from routebook.codes import PERM_INHERIT, PERM_PRIORITY, PERM_READ, PERM_WRITE
from routebook.errors import UsageError


def permission_text(perm: int) -> str:
    """Java: PermName.perm2String, with P for the priority bit that Java does not show."""
    letters = ((PERM_READ, "R"), (PERM_WRITE, "W"), (PERM_INHERIT, "X"))
    text = "".join(letter if perm & bit else "-" for bit, letter in letters)
    return text + "P" if perm & PERM_PRIORITY else text


def parse_permission(text: str) -> int:
    """Parse `rw`, `r`, `w`, or RocketMQ's number for it."""
    names = {"r": PERM_READ, "w": PERM_WRITE, "rw": PERM_READ | PERM_WRITE}
    given = text.strip().lower().rstrip("-")
    if given in names:
        return names[given]
    if given in {"2", "4", "6"}:
        return int(given)
    raise UsageError(f"{text!r} is not a permission; use rw, r or w (6, 4 or 2)")
