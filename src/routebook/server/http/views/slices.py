"""Long scans of the tables in slices, so that other tasks run in between."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")

_SLICE: Final = 4096


async def slices(items: Sequence[T], *, start: int = 0, size: int = _SLICE) -> AsyncGenerator[Sequence[T], None]:
    """Yield consecutive slices of `items`; the event loop runs after each."""
    for begin in range(start, len(items), size):
        yield items[begin : begin + size]
        await asyncio.sleep(0)
