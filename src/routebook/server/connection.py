"""One accepted connection: bytes to commands, commands to outcomes, answers to bytes.

    first bytes ─► PROXY header? ─► TLS? ─► a stranger? ─► frames ─► dispatch ─► one write per read

All of it is synchronous. What has to wait (a file to be on disk, another NameServer's answer) is answered later through
`_answer_later`. A peer that does not read its answers is not read from, and none of its waiting requests is dispatched.
"""

import asyncio
import fcntl
import sys
import termios
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import partial
from time import perf_counter_ns
from typing import Final, cast

from routebook.codes import ADMIN_WRITES, FLAG_ONEWAY, FLAG_RESPONSE, VERSION_5_3_1, ResponseCode
from routebook.errors import ProtocolError
from routebook.events import DownReason
from routebook.handlers import Caller, NameServer, Outcome, dispatch
from routebook.server.clock import Clock
from routebook.server.counts import Counts
from routebook.server.effects import Performer
from routebook.server.notes import Notes
from routebook.server.opening import Opening
from routebook.server.recorder import Recorder
from routebook.server.timing import Latencies
from routebook.server.tls import TlsContexts, TlsSession
from routebook.wire.codec import encode_reply
from routebook.wire.command import Command, Reply, SerializeType
from routebook.wire.peer import Peer
from routebook.wire.strangers import answer_to

_ANSWER_BYTES: Final = 64 * 1024  # answers are written out when so much is collected, so that back-pressure can bite
_MAX_DEFERRED: Final = 64  # answers that one connection may wait for at a time
_GO_AWAY: Final = Reply(code=ResponseCode.GO_AWAY, remark="please go away")


class _Stage(IntEnum):
    OPENING = 0  # the first bytes have yet to tell what this is
    FRAMES = 1
    ENDED = 2  # nothing that still comes is looked at


class Shared:
    """What all connections of one server have in common."""

    def __init__(
        self,
        *,
        nameserver: NameServer,
        clock: Clock,
        contexts: TlsContexts,
        performer: Performer,
        notes: Notes,
        recorder: Recorder,
        opaques: Iterator[int],
        serialize_type: SerializeType,
        water_marks: tuple[int, int],
    ) -> None:
        self.nameserver = nameserver
        self.now_ms = clock.now_ms
        self.wall_ms = clock.wall_ms
        self.contexts = contexts
        self.performer = performer
        self.notes = notes
        self.recorder = recorder
        self.opaques = opaques
        self.serialize_type = serialize_type
        self.high_water, self.low_water = water_marks
        self.counts = Counts()
        self.latencies = Latencies()
        self.connections: dict[int, Connection] = {}
        self.going_away = False  # answer GO_AWAY to whoever understands it
        self.stopping = False  # connections end because this server ends: that is no news about brokers
        self.emptied = asyncio.Event()  # there is no connection
        self.emptied.set()
        self.accepted = 0


class Connection(asyncio.Protocol):
    """What asyncio calls when bytes come, when the peer is slow, and when it is gone."""

    __slots__ = (
        "_caller",
        "_deferred",
        "_opening",
        "_owed",
        "_paused",
        "_peer",
        "_peer_ended",
        "_reason",
        "_shared",
        "_stage",
        "_time",
        "_tls",
        "_transport",
        "last_active",
        "unsent",
    )

    _transport: asyncio.Transport
    _caller: Caller

    def __init__(self, shared: Shared, time: Callable[[], float]) -> None:
        self._shared = shared
        self._time = time
        self._peer = Peer(shared.opaques)
        self._stage = _Stage.OPENING
        self._opening: Opening | None = Opening(shared.contexts)
        self._tls: TlsSession | None = None
        self._paused = False  # the peer does not read
        self._deferred = 0  # answers that wait for a disk or another server
        self._peer_ended = False  # it will send no more, and still reads
        self._owed: int | None = None  # draining: bytes that had arrived and are still to be read
        self._reason = DownReason.CLOSED
        self.last_active = 0.0
        self.unsent = 0  # what was in the write buffer when the idle sweep last looked

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        shared = self._shared
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=shared.high_water, low=shared.low_water)
        shared.accepted += 1
        self._caller = Caller(shared.accepted, _printed(transport.get_extra_info("peername")))
        self.last_active = self._time()
        shared.connections[shared.accepted] = self
        shared.emptied.clear()
        if shared.stopping:
            self.drain()  # it was accepted in the last moment

    def data_received(self, data: bytes) -> None:
        self.last_active = self._time()
        if self._owed is not None:
            self._owed -= len(data)
        try:
            if self._stage != _Stage.FRAMES:
                data = self._open(data)
            elif self._tls is not None:
                data = self._decrypt(self._tls, data)
            if data:
                self._peer.feed(data)
        except ProtocolError as error:
            self._refuse(str(error))
            return
        if data and not self._paused and self._deferred < _MAX_DEFERRED:
            self._serve()
        if self._owed is not None or self._peer_ended:
            self._finish_if_done()

    def eof_received(self) -> bool:
        """True keeps the connection for the answers that it still waits for."""
        self._peer_ended = True
        return (self._paused or self._deferred > 0) and self._stage != _Stage.ENDED

    def pause_writing(self) -> None:
        self._paused = True
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._paused = False
        self.last_active = self._time()
        self._carry_on()

    def connection_lost(self, _exc: Exception | None) -> None:
        shared, caller = self._shared, self._caller
        self._leave()
        self._tls = None
        del shared.connections[caller.connection]
        if not shared.connections:
            shared.emptied.set()
        if shared.stopping:
            return
        outcome = shared.nameserver.connection_lost(caller.connection, self._reason, shared.now_ms())
        if outcome.events:
            shared.recorder.record(outcome.events, at_ms=shared.wall_ms(), peer=caller.address)
        if outcome.effects:
            shared.performer.perform(outcome)

    # The first bytes

    def _open(self, data: bytes) -> bytes:
        """Take the first bytes; what comes out is plain and belongs to frames."""
        opening = self._opening
        if opening is None:
            return b""  # it has ended; what still comes is dropped
        try:
            plain = opening.take(data)
        finally:
            if opening.source is not None:
                self._caller = Caller(self._caller.connection, opening.source)
            if opening.tls is not None:
                self._tls = opening.tls
                self._speak_tls(opening.tls)
        if plain is None:
            return b""
        self._opening = None
        self._stage = _Stage.FRAMES
        if opening.stranger is None:
            return plain
        self._shared.notes.stranger(opening.stranger, self._caller.address)
        answer = answer_to(opening.stranger)
        if answer:
            self._write(answer)
        self._end()
        return b""

    # Requests and answers

    def _serve(self) -> None:
        """Answer every whole command that has arrived, in one write."""
        shared, caller, next_command = self._shared, self._caller, self._peer.next_command
        nameserver, serialize_type, counts = shared.nameserver, shared.serialize_type, shared.counts
        requests, responses = counts.requests, counts.responses
        now_ms = shared.now_ms()
        answers: list[bytes] = []
        size = code = served = 0
        began_ns = perf_counter_ns()
        try:
            while (command := next_command()) is not None:
                if command.flag & FLAG_RESPONSE:
                    continue  # nothing was asked of this peer
                code = command.code
                requests[code] += 1
                served += 1
                if shared.going_away and command.version > VERSION_5_3_1:
                    reply: Reply | None = _GO_AWAY
                else:
                    try:
                        outcome = dispatch(nameserver, command, caller, now_ms)
                        reply = outcome.reply
                        if outcome.events or outcome.effects:
                            reply = self._carry_out(command, outcome)
                    except Exception as error:  # noqa: BLE001  around one request: the connection lives on
                        reply = self._failed(command, error)
                if reply is not None and not command.flag & FLAG_ONEWAY:
                    responses[reply.code] += 1
                    answer = encode_reply(command.opaque, reply, serialize_type)
                    answers.append(answer)
                    size += len(answer)
                    if size >= _ANSWER_BYTES:
                        self._write(b"".join(answers))
                        answers.clear()
                        size = 0
                        if self._paused:
                            return
                if self._deferred >= _MAX_DEFERRED:
                    self._transport.pause_reading()
                    break
        except ProtocolError as error:
            if answers:
                self._write(b"".join(answers))
            self._refuse(str(error))
            return
        if answers:
            self._write(answers[0] if len(answers) == 1 else b"".join(answers))
        if served:
            shared.latencies.add(code, served, perf_counter_ns() - began_ns)

    def _carry_out(self, command: Command, outcome: Outcome) -> Reply | None:
        """Record and do what follows from a request. None: it will be answered later."""
        shared, durable = self._shared, 0
        if outcome.events:
            code = command.code
            seq = shared.recorder.record(outcome.events, at_ms=shared.wall_ms(), peer=self._caller.address, code=code)
            if code in ADMIN_WRITES and shared.recorder.journal is not None:
                durable = seq
        if not outcome.effects and not durable:
            return outcome.reply
        later = partial(self._answer_later, command.opaque, bool(command.flag & FLAG_ONEWAY))
        if shared.performer.perform(outcome, later, durable=durable):
            self._deferred += 1
            return None
        return outcome.reply

    def _failed(self, command: Command, error: Exception) -> Reply:
        self._shared.notes.failed(command.code, self._caller.address, error)
        return Reply(
            code=ResponseCode.SYSTEM_ERROR,
            remark=f"internal error in request {command.code}: {type(error).__name__}; the NameServer's log has more",
        )

    def _answer_later(self, opaque: int, oneway: bool, reply: Reply) -> None:
        self._deferred -= 1
        if self._stage == _Stage.ENDED or self._transport.is_closing():
            return
        if not oneway:
            self._shared.counts.responses[reply.code] += 1
            self._write(encode_reply(opaque, reply, self._shared.serialize_type))
        if not self._paused:
            self._carry_on()

    def _carry_on(self) -> None:
        """Serve what waited, and read on if nothing holds this connection back any more."""
        if self._stage == _Stage.FRAMES:
            self._serve()
        if not self._paused and self._deferred < _MAX_DEFERRED and not self._transport.is_closing():
            self._transport.resume_reading()
        if self._owed is not None or self._peer_ended:
            self._finish_if_done()

    def _write(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self.last_active = self._time()
        self._transport.write(data if self._tls is None else self._tls.send(data))

    def _decrypt(self, tls: TlsSession, data: bytes) -> bytes:
        try:
            return tls.receive(data)
        finally:
            self._speak_tls(tls)

    def _speak_tls(self, tls: TlsSession) -> None:
        """Send what TLS itself has to say, and hear whether the peer said goodbye."""
        own = tls.outgoing()
        if own:
            self._transport.write(own)
        if tls.finished:
            self._peer_ended = True

    # The end

    def _refuse(self, why: str) -> None:
        self._shared.notes.refused(why, self._caller.address)
        self._end()

    def _end(self) -> None:
        """Send what is still to be sent, then close."""
        self._leave()
        if self._tls is not None:
            self._transport.write(self._tls.close())
        self._transport.close()

    def close(self, reason: DownReason) -> None:
        """Close now, for a reason that the tables are told. What the peer has not read is dropped."""
        self._reason = reason
        self._leave()
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()

    @property
    def write_buffer_size(self) -> int:
        return self._transport.get_write_buffer_size()

    @property
    def ended(self) -> bool:
        return self._stage == _Stage.ENDED

    @property
    def held_back(self) -> bool:
        """Whether requests of this peer wait until it reads its answers."""
        return self._paused

    @property
    def address(self) -> str:
        return self._caller.address

    def drain(self) -> None:
        """Answer everything that has arrived, the socket's own buffer included; then say goodbye."""
        if self._owed is None and self._stage != _Stage.ENDED:
            self._owed = _bytes_to_read(self._transport)
            self._finish_if_done()

    def _finish_if_done(self) -> None:
        if self._paused or self._deferred or self._stage == _Stage.ENDED:
            return
        if self._peer_ended:
            self._end()
        elif self._owed is not None and self._owed <= 0:
            # Half-close: a full close while the peer is still sending would reset the connection, and with it the
            # answers that the peer has not read yet. Whatever it still sends is read and dropped until it closes.
            self._leave()
            if self._tls is not None:
                self._transport.write(self._tls.close())
            self._transport.write_eof()

    def _leave(self) -> None:
        self._stage = _Stage.ENDED
        self._opening = None


def _printed(peername: object) -> str:
    if not isinstance(peername, tuple) or len(peername) < 2:
        return "unknown"
    host, port = peername[0], peername[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bytes_to_read(transport: asyncio.Transport) -> int:
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return 0
    return int.from_bytes(fcntl.ioctl(sock.fileno(), termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)
