"""A server in the test process: start, stop, restart and look-ups, on a thread with its own event loop."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Generic, Self, TypeVar

from routebook.testing.loop_thread import LoopThread

S = TypeVar("S")
T = TypeVar("T")

HOST: Final = "127.0.0.1"


class LocalServer(ABC, Generic[S]):
    """Methods may be called from any thread and block until done. Subclasses open the server S and run it."""

    _name: str  # in messages

    def __init__(self) -> None:
        self._server: S | None = None
        self._thread: LoopThread | None = None
        self.host = HOST
        self.port = 0

    @property
    def address(self) -> str:
        """`127.0.0.1:PORT`."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Start; a restart uses the same port."""
        if self._server is not None:
            raise RuntimeError(f"the {self._name} at {self.address} is already running")
        self._thread = LoopThread(f"local-{self._name.lower()}")
        try:
            self._server = self._start(self._thread)
        except BaseException:  # cleanup only: re-raised
            self._end()
            raise

    def stop(self) -> None:
        """Stop gracefully; does nothing if it is not running."""
        server, self._server = self._server, None
        if server is not None and self._thread is not None:
            self._stop(server, self._thread)
        self._end()

    def restart(self) -> None:
        """Stop and start on the same port. Without a folder all state is lost, as with Java."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def _start(self, thread: LoopThread) -> S: ...

    @abstractmethod
    def _stop(self, server: S, thread: LoopThread) -> None: ...

    def _look(self, look: Callable[[S], T]) -> T:
        server = self._server
        if server is None or self._thread is None:
            raise RuntimeError(f"the {self._name} is not running; call start()")
        return self._thread.call(lambda: look(server))

    def _end(self) -> None:
        if self._thread is not None:
            self._thread.close()
            self._thread = None
