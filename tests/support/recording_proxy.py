"""A proxy between a broker and a NameServer that records every request with its time."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from routebook.wire.command import Command
from routebook.wire.peer import Peer


@dataclass(frozen=True)
class RecordedRequest:
    """One request, and its time in seconds after the first one."""

    at_s: float
    command: Command
    binary: bool


@dataclass
class Recording:
    """All requests in order."""

    address: tuple[str, int]
    requests: list[RecordedRequest] = field(default_factory=list)
    connections: int = 0

    def of(self, code: int) -> list[RecordedRequest]:
        return [one for one in self.requests if one.command.code == code]

    def codes(self) -> set[int]:
        return {one.command.code for one in self.requests}


@contextlib.contextmanager
def recording(nameserver: tuple[str, int]) -> Iterator[Recording]:
    """Listen on a free port and forward everything to the NameServer until the block ends."""
    listener = socket.create_server(("127.0.0.1", 0))
    record = Recording(listener.getsockname()[:2])
    lock = threading.Lock()
    began = time.monotonic()
    ends: list[socket.socket] = [listener]
    threads: list[threading.Thread] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                incoming, _ = listener.accept()
                outgoing = socket.create_connection(nameserver)
                with lock:
                    record.connections += 1
                    ends.extend((incoming, outgoing))
                    for source, sink, listens in ((incoming, outgoing, True), (outgoing, incoming, False)):
                        thread = threading.Thread(target=pump, args=(source, sink, listens), daemon=True)
                        threads.append(thread)
                        thread.start()

    def pump(source: socket.socket, sink: socket.socket, listens: bool) -> None:
        peer = Peer()
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if listens:
                    note(peer, data)
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def note(peer: Peer, data: bytes) -> None:
        at_s = time.monotonic() - began
        binary = len(data) > 4 and data[4] == 1  # header type; requests are small, so a chunk starts a frame
        peer.feed(data)
        while (command := peer.next_command()) is not None:
            with lock:
                record.requests.append(RecordedRequest(at_s, command, binary))

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield record
    finally:
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in (acceptor, *threads):
            thread.join(5)
