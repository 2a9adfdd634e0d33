"""Decorator for tests that are coroutines: each runs in its own event loop."""

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Final, ParamSpec

P = ParamSpec("P")

_TIMEOUT_S: Final = 180.0


def asynchronous(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run the test in an event loop, with a timeout."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(_TIMEOUT_S):
                await test(*args, **kwargs)

        asyncio.run(bounded())

    return run
