"""uvicorn's server inside a running event loop: it leaves signals to the process and reports when it listens.

Overrides methods that uvicorn does not document: test_transport.py lists them.
"""

import contextlib
import socket
from collections.abc import Callable, Iterator

import uvicorn


class EmbeddedServer(uvicorn.Server):
    """A server that does not own the process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.on_listening: Callable[[], None] = lambda: None

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_listening()
