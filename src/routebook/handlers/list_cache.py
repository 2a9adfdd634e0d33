"""Encoded answers that list a table (106, 206, 219, 224, 304, 311-313), each encoded once per revision of the table."""

from collections.abc import Callable
from typing import Final, TypeAlias

ListKey: TypeAlias = tuple[int, str]  # request code and argument
_MAX_BYTES: Final = 64 << 20


class ListCache:
    """The newest answer for each key. Answers that do not fit are encoded for each request."""

    __slots__ = ("_answers", "_bytes")

    def __init__(self) -> None:
        self._answers: dict[ListKey, tuple[int, bytes]] = {}
        self._bytes = 0

    def get(self, key: ListKey, revision: int, encode: Callable[[], bytes]) -> bytes:
        """The answer at this revision."""
        found = self._answers.get(key)
        if found is not None:
            if found[0] == revision:
                return found[1]
            self._bytes -= len(found[1])
            del self._answers[key]
        answer = encode()
        if self._bytes + len(answer) > _MAX_BYTES:  # mostly answers of older revisions
            self._answers.clear()
            self._bytes = 0
        if len(answer) <= _MAX_BYTES:
            self._answers[key] = (revision, answer)
            self._bytes += len(answer)
        return answer
