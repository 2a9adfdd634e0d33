"""One accepted connection: an asyncio protocol with synchronous handlers.

    bytes ─► first_bytes: PROXY header? TLS? ─► frames ─► request_loop ─► flow_control: one write per read

`connection_state` has the states. Deferred answers (after an fsync, or from another NameServer) use `_answer_later`.
"""

import asyncio
from collections.abc import Callable
from time import perf_counter_ns
from typing import Final, cast

from routebook.errors import ProtocolError
from routebook.events import DownReason
from routebook.handlers import Caller
from routebook.server.net.connection_state import PAUSED, SERVES, Event, State, next_state
from routebook.server.net.first_bytes import Decoder
from routebook.server.net.flow_control import FlowControl, bytes_to_read
from routebook.server.net.request_loop import answer_deferred, answer_lookup, answer_requests
from routebook.server.net.requester import Requester, format_address, host_of
from routebook.server.net.shared import Shared
from routebook.wire.command import Reply
from routebook.wire.foreign_protocols import answer_to_client

_LONG_FRAME_BYTES: Final = 64 << 10


class Connection(asyncio.Protocol):
    """asyncio calls it when bytes arrive, when the peer is slow, and when the connection is lost."""

    __slots__ = (
        "_decoder",
        "_is_held_back",
        "_peer",
        "_peer_finished",
        "_reason",
        "_shared",
        "_time",
        "_transport",
        "_undrained",
        "flow",
        "last_active",
        "opened_at",
        "requester",
        "state",
    )

    def __init__(self, shared: Shared, time: Callable[[], float]) -> None:
        self._shared = shared
        self._time = time
        self._peer = shared.new_peer()
        self.state = State.READING
        self._peer_finished = False  # the peer sends no more, but still reads
        self._is_held_back = False  # reading is paused in the middle of a long frame
        self._undrained = 0  # DRAINING: bytes that are still to be read from the socket
        self._reason = DownReason.CLOSED
        self.last_active = self.opened_at = 0.0

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        shared, traffic = self._shared, self._shared.traffic
        self._transport = cast("asyncio.Transport", transport)
        address = format_address(transport.get_extra_info("peername"))
        host = shared.protection.limits.enter(host_of(address))
        if host is None:
            shared.recording.event_log.connection_closed("too many connections", address)
            self._on(Event.REFUSE)
            self._transport.abort()
            return
        self.flow = FlowControl(self._transport, shared.outbox, shared.buffers, shared.transport.watermarks)
        traffic.accepted += 1
        self.requester = Requester(Caller(traffic.accepted, address), host)
        self._decoder = Decoder(shared, self.requester, self.flow, self._transport)
        self.last_active = self.opened_at = self._time()
        traffic.add(traffic.accepted, self)
        if traffic.is_stopping:
            self.drain()  # it was in the queue of the listening socket

    def data_received(self, data: bytes) -> None:
        shared = self._shared
        load = shared.protection.load
        now = self.last_active = self._time()
        if now >= load.late_at:
            load.check(now)
        is_plain = self._decoder.is_plain
        if is_plain and self.state is State.READING and not self._peer.arrived:
            if answer_lookup(shared, self.requester, self._transport, data):
                return
        elif self.state is State.CLOSING:
            return
        self._undrained -= len(data)
        try:
            if not is_plain:
                data = self._decode(data)
                is_first = bool(data) and self.state is State.READING and not self._peer.arrived
                if is_first and answer_lookup(shared, self.requester, self._transport, data):
                    return
            if data:
                self._peer.feed(data)
                if self.state in SERVES:
                    if self.requester.is_overdrawn(perf_counter_ns()):
                        self._wait_for_turn()
                    else:
                        self._serve()
                        if self._peer.held >= _LONG_FRAME_BYTES:
                            self._share_reading(len(data))
        except ProtocolError as error:
            self._refuse(str(error))
        self._finish_if_drained()

    def eof_received(self) -> bool:
        """True keeps the connection open for answers that are still to be written."""
        self._shared.outbox.flush()
        self._peer_finished = True
        self._on(Event.INPUT_ENDED)
        if self.state is State.DRAINING and not self.flow.deferred:
            self._on(Event.CLOSE)
        return self.state is not State.CLOSING

    def pause_writing(self) -> None:
        self._on(Event.PAUSE)
        self.flow.block()
        self._check_unread()

    def resume_writing(self) -> None:
        self.flow.unblock()
        self.last_active = self._time()
        self._continue()

    def connection_lost(self, _exc: Exception | None) -> None:
        if self.state is State.CLOSED:  # it was refused
            return
        shared, caller = self._shared, self.requester.caller
        self._on(Event.LOST)
        self._release()
        shared.protection.limits.leave(self.requester.host)
        shared.traffic.remove(caller.connection)
        if not shared.traffic.is_stopping:
            shared.service.connection_lost(caller, self._reason)

    # Requests and answers

    def _decode(self, data: bytes) -> bytes:
        decoder = self._decoder
        data = decoder.decode(data)
        if decoder.foreign is not None:
            self._shared.recording.event_log.foreign_protocol(decoder.foreign, self.requester.address)
            self.flow.write([answer_to_client(decoder.foreign, self._shared.transport.http_address)])
            self._end()
        if decoder.has_ended:
            self._peer_finished = True
            self._on(Event.INPUT_ENDED)
        return data

    def _serve(self) -> None:
        event = answer_requests(self._shared, self.requester, self._peer, self.flow, self._answer_later)
        if event is not None:
            if event is Event.PAUSE:
                self._wait_for_turn()
            else:
                self._on(event)
                self.flow.pause_reading()

    def _wait_for_turn(self) -> None:
        """Other connections have their turn: continue when it is this host's."""
        self._on(Event.PAUSE)
        self.flow.pause_reading()
        self._shared.turns.add_turn(self.requester.host.name, self._next_turn)

    def _next_turn(self) -> None:
        if self.state in PAUSED and not self.flow.is_blocked:
            self._continue()

    def _share_reading(self, size: int) -> None:
        """Pause reading a long frame if all connections together have read enough of them in this turn of the loop."""
        turns = self._shared.turns
        if turns.has_read(size) and not self._is_held_back and self.state is State.READING:
            self._is_held_back = True
            self.flow.pause_reading()
            turns.add_reader(self.requester.host.name, self._resume_long_frame)

    def _resume_long_frame(self) -> None:
        self._is_held_back = False
        if self.state in SERVES:
            self.flow.resume_reading()

    def _answer_later(self, opaque: int, oneway: bool, reply: Reply) -> None:
        self.flow.deferred -= 1
        if opaque == self.flow.in_order:
            self.flow.in_order = None
        self._on(Event.DEFERRED_ANSWER)
        if self.state >= State.CLOSING or self._transport.is_closing():
            return
        if not oneway:
            self.last_active = self._time()
            answer_deferred(self._shared, self.flow, opaque, reply)
            self._check_unread()
        if self.state in SERVES:
            self._continue()

    def _continue(self) -> None:
        """Answer requests that have waited; resume reading unless that pauses the connection again."""
        if self.state not in SERVES:
            self._on(Event.CONTINUE)
        if self.state in SERVES:
            try:
                self._serve()
            except ProtocolError as error:
                self._refuse(str(error))
        if self.state in SERVES or self.state is State.CLOSING:
            self.flow.resume_reading()
        self._finish_if_drained()

    def _check_unread(self) -> None:
        limit = self._shared.protection.limits.settings.unread_bytes
        if limit and self.flow.unread > limit:
            self.exceed("unread_bytes", f"{self.flow.unread} bytes of answers are unread")

    # The end

    def drain(self) -> None:
        """Answer everything that has arrived, including the buffer of the socket; then close."""
        if self.state < State.DRAINING:
            self._undrained = bytes_to_read(self._transport)
            self._on(Event.INPUT_ENDED)
            self._finish_if_drained()

    def close(self, reason: DownReason) -> None:
        """Close now and drop unread answers. `reason` is recorded for the brokers of this connection."""
        self._reason = reason
        self._on(Event.CLOSE)
        self._shared.outbox.flush()
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()

    def exceed(self, limit: str, why: str) -> None:
        """Close now: the connection exceeds a limit."""
        self._shared.protection.limits.exceeded[limit] += 1
        self._shared.recording.event_log.connection_closed(why, self.requester.address)
        self._release()
        self._on(Event.CLOSE)
        self._transport.abort()

    def _refuse(self, why: str) -> None:
        self._shared.recording.event_log.connection_closed(why, self.requester.address)
        self._end()

    def _finish_if_drained(self) -> None:
        if self.state is State.DRAINING and not self.flow.deferred and (self._peer_finished or self._undrained <= 0):
            self._end(half=not self._peer_finished)

    def _end(self, *, half: bool = False) -> None:
        """Send the answers, then close.

        A full close while the peer still sends would reset the connection and lose answers that the peer has not read.
        `half` closes only this side; what still arrives is dropped until the peer closes.
        """
        self._on(Event.CLOSE)
        self._shared.outbox.flush()
        if self.requester.tls is not None:
            self._transport.write(self.requester.tls.close())
        if half:
            self._transport.write_eof()
        else:
            self._transport.close()

    def _release(self) -> None:
        """Nothing of this connection counts against the memory limit any more."""
        self.flow.release()
        self._peer.release()
        self._decoder.release()

    def _on(self, event: Event) -> None:
        self.state = next_state(self.state, event)

    # For the idle sweep, limits and metrics

    @property
    def buffered_bytes(self) -> int:
        """Bytes that count against the memory limit: an incomplete frame or PROXY header, and unread answers."""
        return self._peer.held + self.flow.unread + self._decoder.held

    @property
    def partial_frame(self) -> int | None:
        """The number of the incomplete frame whose rest is expected, if there is one."""
        if self._is_held_back or self.state not in SERVES:
            return None  # this side does not read
        return self._peer.frames_in_parts if self._peer.held else None
