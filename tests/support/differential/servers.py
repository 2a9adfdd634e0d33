"""The compared servers, each in a process that can be restarted."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from itertools import count
from pathlib import Path

from tests.support.differential.endpoint import Endpoint
from tests.support.java import java_nameserver
from tests.support.process import serving


@contextmanager
def java(folder: Path, name: str = "java") -> Iterator[Endpoint]:
    """A restartable Java NameServer."""
    homes = (folder / f"{name}-{number}" for number in count())
    with _restartable(name, lambda: java_nameserver(next(homes))) as endpoint:
        yield endpoint


@contextmanager
def routebook(folder: Path) -> Iterator[Endpoint]:
    """A restartable Routebook."""
    homes = (folder / f"routebook-{number}" for number in count())
    with _restartable("routebook", lambda: _routebook(next(homes))) as endpoint:
        yield endpoint


@contextmanager
def _routebook(home: Path) -> Iterator[tuple[str, int]]:
    with serving(home) as process:
        yield process.address


@contextmanager
def _restartable(name: str, start: Callable[[], AbstractContextManager[tuple[str, int]]]) -> Iterator[Endpoint]:
    with ExitStack() as running:

        def restart() -> tuple[str, int]:
            running.close()
            return running.enter_context(start())

        with closing(Endpoint(name, restart)) as endpoint:
            yield endpoint
