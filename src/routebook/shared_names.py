"""One object for equal names: many brokers announce the same topics.

`sys.intern` is not suited for names from peers: from Python 3.12 on, what it interns is never freed.
"""

from typing import Final

from routebook.bounded_cache import BoundedCache

_names: Final = BoundedCache[str, str](max_entries=200_000)


def shared(name: str) -> str:
    """An equal name, the same object for all callers while the table has room."""
    found = _names.get(name)
    if found is not None:
        return found
    if _names.has_room():
        _names[name] = name
    return name
