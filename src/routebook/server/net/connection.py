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

from routebook.access.identity import Identity, Network, is_within
from routebook.codes import ADMIN_WRITES, FLAG_ONEWAY, FLAG_RESPONSE, RequestCode, ResponseCode
from routebook.errors import FrameTooLong, ProtocolError
from routebook.events import DownReason
from routebook.handlers import Caller, NameServer, Outcome, dispatch
from routebook.handlers.fast_lookup import FastLookup
from routebook.server.access.denials import Denials
from routebook.server.clock import Clock
from routebook.server.net.admission import Gate
from routebook.server.net.effects import Performer
from routebook.server.net.first_bytes import Opening
from routebook.server.net.limits import Buffers, Host, Limits
from routebook.server.net.load_monitor import Pressure
from routebook.server.net.outbox import Outbox
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.latency import Latencies
from routebook.server.observe.request_counts import RequestCounts
from routebook.server.state.recorder import Recorder
from routebook.server.tls.session import TlsContexts, TlsSession
from routebook.wire.codec import encode_reply
from routebook.wire.command import Command, Reply, SerializeType
from routebook.wire.foreign_protocols import answer_to
from routebook.wire.peer import Peer

_ANSWER_BYTES: Final = 64 * 1024  # answers are written out when so much is collected, so that back-pressure can bite
_MAX_DEFERRED: Final = 64  # answers that one connection may wait for at a time
_LONG_BYTES: Final = 16 * 1024  # an answer from which on sending it in pieces costs less than copying it into one
_LOOK_UP: Final = int(RequestCode.GET_ROUTEINFO_BY_TOPIC)
_TURN_REQUESTS: Final = 128  # answered at a time; then it is others' turn


class _Stage(IntEnum):
    OPENING = 0  # the first bytes have yet to tell what this is
    FRAMES = 1
    ENDED = 2  # nothing that still comes is looked at
    REFUSED = 3  # it was not let in


class Shared:
    """What all connections of one server have in common."""

    def __init__(
        self,
        *,
        nameserver: NameServer,
        clock: Clock,
        contexts: TlsContexts,
        performer: Performer,
        event_log: EventLog,
        recorder: Recorder,
        opaques: Iterator[int],
        serialize_type: SerializeType,
        water_marks: tuple[int, int],
        gate: Gate,
        limits: Limits,
        denials: Denials,
        pressure: Pressure,
        proxy_networks: tuple[Network, ...] = (),
    ) -> None:
        self.nameserver = nameserver
        self.now_ms = clock.now_ms
        self.wall_ms = clock.wall_ms
        self.contexts = contexts
        self.performer = performer
        self.event_log = event_log
        self.recorder = recorder
        self.opaques = opaques
        self.serialize_type = serialize_type
        self.high_water, self.low_water = water_marks
        self.gate = gate
        self.limits = limits
        limits.broker_hosts = self.broker_hosts
        self.denials = denials
        self.pressure = pressure
        self.proxy_networks = proxy_networks
        self.buffers = Buffers(limits.settings.buffer_bytes, self._make_room)
        self.repeats = FastLookup() if serialize_type is SerializeType.JSON else None
        self.outbox = Outbox()
        self.counts = RequestCounts()
        self.latencies = Latencies()
        self.connections: dict[int, Connection] = {}
        self.stopping = False  # connections end because this server ends: that is no news about brokers
        self.emptied = asyncio.Event()  # there is no connection
        self.emptied.set()
        self.accepted = 0

    def broker_hosts(self) -> set[str]:
        """Where registered brokers are connected from."""
        registered = self.nameserver.routes.registered_over
        return {connection.host.name for number, connection in self.connections.items() if number in registered}

    def _make_room(self) -> None:
        """Close whoever has most in the buffers, and is no broker, until there is room again."""
        registered = self.nameserver.routes.registered_over
        holding = [connection for connection in self.connections.values() if connection.holds]
        holding.sort(key=lambda connection: (connection.number in registered, -connection.holds))
        for connection in holding:
            if not self.buffers.is_full:
                break
            connection.exceed("buffer_bytes", "it holds much of the memory for buffers, and that is full")


class Connection(asyncio.Protocol):
    """What asyncio calls when bytes come, when the peer is slow, and when it is gone."""

    __slots__ = (
        "_blocked",
        "_caller",
        "_deferred",
        "_names",
        "_opening",
        "_owed",
        "_paused",
        "_peer",
        "_peer_ended",
        "_quick",
        "_reason",
        "_shared",
        "_stage",
        "_time",
        "_tls",
        "_transport",
        "_unread",
        "asked",
        "begun",
        "frame_mark",
        "host",
        "last_active",
        "unsent",
    )

    _transport: asyncio.Transport
    _caller: Caller
    host: Host

    def __init__(self, shared: Shared, time: Callable[[], float]) -> None:
        self._shared = shared
        self._time = time
        self._peer = Peer(shared.opaques, max_frame_bytes=shared.limits.settings.frame_bytes, hold=shared.buffers.hold)
        self._stage = _Stage.OPENING
        self._opening: Opening | None = Opening(shared.contexts)
        self._quick = False  # what comes is plain frames, and nobody waits for their end
        self._tls: TlsSession | None = None
        self._blocked = False  # the peer does not read
        self._paused = False  # that, or it is others' turn
        self._unread = 0  # how much of what it does not read counts among the buffers
        self._names: tuple[str, ...] | None = None  # of its certificate
        self._deferred = 0  # answers that wait for a disk or another server
        self._peer_ended = False  # it will send no more, and still reads
        self._owed: int | None = None  # draining: bytes that had arrived and are still to be read
        self._reason = DownReason.CLOSED
        self.last_active = 0.0
        self.unsent = 0  # what was in the write buffer when the idle sweep last looked
        self.asked = False  # it has sent a whole request
        self.begun = 0.0
        self.frame_mark: tuple[int, float] | None = None  # which frame the idle sweep saw in parts, and since when

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        shared = self._shared
        self._transport = cast("asyncio.Transport", transport)
        address = _printed(transport.get_extra_info("peername"))
        host = shared.limits.enter(_host_of(address))
        if host is None:
            shared.event_log.connection_closed("too many connections", address)
            self._stage = _Stage.REFUSED
            self._transport.abort()
            return
        self.host = host
        self._transport.set_write_buffer_limits(high=shared.high_water, low=shared.low_water)
        shared.accepted += 1
        self._caller = Caller(shared.accepted, address)
        self.last_active = self.begun = self._time()
        shared.connections[shared.accepted] = self
        shared.emptied.clear()
        if shared.stopping:
            self.drain()  # it was accepted in the last moment

    def data_received(self, data: bytes) -> None:
        now = self.last_active = self._time()
        if now >= self._shared.pressure.late_at:
            self._shared.pressure.look(now)
        if self._quick and self._answers_at_once(data):
            return
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
        self._shared.outbox.flush()
        self._peer_ended = True
        return (self._paused or self._deferred > 0) and self._stage != _Stage.ENDED

    def pause_writing(self) -> None:
        self._blocked = self._paused = True
        self._transport.pause_reading()
        self._count_unread(self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._blocked = self._paused = False
        self._count_unread(0)
        self.last_active = self._time()
        self._carry_on()

    def connection_lost(self, _exc: Exception | None) -> None:
        if self._stage == _Stage.REFUSED:
            return
        shared, caller = self._shared, self._caller
        self._leave()
        self._count_unread(0)
        self._peer.let_go()
        shared.limits.leave(self.host)
        self._tls = None
        del shared.connections[caller.connection]
        if not shared.connections:
            shared.emptied.set()
        if shared.stopping:
            return
        outcome = shared.nameserver.connection_lost(caller.connection, self._reason, shared.now_ms())
        if outcome.events:
            shared.recorder.record(outcome.events, at_ms=shared.wall_ms(), peer=caller.address, who=caller.who)
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
                source, opening.source = opening.source, None
                self._speaks_for(source)
            if opening.tls is not None:
                self._tls = opening.tls
                self._speak_tls(opening.tls)
        if plain is None:
            return b""
        self._opening = None
        self._stage = _Stage.FRAMES
        if opening.stranger is None:
            self._quick = self._tls is None
            return plain
        self._shared.event_log.foreign_protocol(opening.stranger, self._caller.address)
        answer = answer_to(opening.stranger)
        if answer:
            self._write([answer])
        self._end()
        return b""

    def _speaks_for(self, source: str) -> None:
        """A PROXY header: anybody can send one, so it decides about nothing unless it comes from a known balancer."""
        shared = self._shared
        trusted = bool(shared.proxy_networks) and is_within(self.host.name, shared.proxy_networks)
        if trusted:
            host = shared.limits.enter(_host_of(source))
            if host is None:
                raise ProtocolError("too many connections")
            shared.limits.leave(self.host)
            self.host = host
        if trusted or shared.gate.authority is None:
            self._caller = Caller(self._caller.connection, source)

    # Requests and answers

    def _answers_at_once(self, data: bytes) -> bool:
        """Whether this was one look-up that came before, which is answered then."""
        shared = self._shared
        repeats = shared.repeats
        if self._paused or self._peer.arrived or repeats is None or shared.gate.current is not None:
            return False
        began_ns = perf_counter_ns()
        pieces = repeats.answer_one(shared.nameserver, self._caller, data)
        if pieces is None:
            return False
        shared.counts.look_ups += 1
        if len(pieces[3]) < _LONG_BYTES:
            shared.outbox.put(self._transport, b"".join(pieces))
        else:
            shared.outbox.flush()
            self._transport.writelines((b"".join(pieces[:3]), pieces[3]))  # what is long is not copied
        self.asked = True
        shared.latencies.look_up(perf_counter_ns() - began_ns)
        return True

    def _serve(self) -> None:
        """Answer every whole command that has arrived, in one write."""
        shared, peer, answers = self._shared, self._peer, list[bytes]()
        gate, nameserver, counts = shared.gate.current, shared.nameserver, shared.counts
        repeats = shared.repeats if gate is None else None
        size = code = served = now_ms = 0
        began_ns = perf_counter_ns()
        try:
            while True:
                data, at = peer.rest
                if repeats is not None and type(data) is bytes:
                    room = _ANSWER_BYTES - size
                    end, count, more = repeats.answer(nameserver, self._caller, data, at, answers, max_bytes=room)
                    if count:
                        code = _LOOK_UP
                        counts.requests[code] += count
                        counts.responses[0] += count
                        served += count
                        size += more
                        peer.skip_to(end)
                        if end == len(data):
                            break
                        at = end
                if size >= _ANSWER_BYTES:
                    self._write(answers)
                    shared.outbox.flush()  # whether the peer reads decides whether the rest is answered
                    answers.clear()
                    size = 0
                    if self._paused:
                        break
                if served >= _TURN_REQUESTS:
                    self._end_turn()
                    break
                if self._deferred >= _MAX_DEFERRED:
                    self._transport.pause_reading()
                    break
                command = peer.next_command()
                if command is None:
                    break
                if command.flag & FLAG_RESPONSE:
                    continue  # nothing was asked of this peer
                code = command.code
                counts.requests[code] += 1
                served += 1
                now_ms = now_ms or shared.now_ms()
                reply: Reply | None
                try:
                    if gate is None or (reply := gate.refusal(self, command)) is None:
                        outcome = dispatch(nameserver, command, self._caller, now_ms)
                        reply = outcome.reply
                        if outcome.events or outcome.effects:
                            reply = self._carry_out(command, outcome)
                except Exception as error:  # noqa: BLE001  around one request: the connection lives on
                    reply = self._failed(command, error)
                if reply is not None and not command.flag & FLAG_ONEWAY:
                    counts.responses[reply.code] += 1
                    answer = encode_reply(command.opaque, reply, shared.serialize_type)
                    answers.append(answer)
                    size += len(answer)
                    if code == _LOOK_UP and reply.code == 0 and repeats is not None and type(data) is bytes:
                        repeats.learn(command, data, at)
        except ProtocolError as error:
            self._write(answers)
            if isinstance(error, FrameTooLong):
                shared.limits.exceeded["frame_bytes"] += 1
            self._refuse(str(error))
            return
        self._write(answers)
        if served:
            self.asked = True
            shared.latencies.add(code, served, perf_counter_ns() - began_ns)

    def _carry_out(self, command: Command, outcome: Outcome) -> Reply | None:
        """Record and do what follows from a request. None: it will be answered later."""
        shared, caller, durable = self._shared, self._caller, 0
        if outcome.events:
            code = command.code
            if outcome.reply is not None and outcome.reply.code == ResponseCode.NO_PERMISSION:
                why = outcome.reply.remark or ""
                shared.denials.denied(code=code, why=why, peer=caller.address, who=caller.who)
                return outcome.reply
            seq = shared.recorder.record(
                outcome.events, at_ms=shared.wall_ms(), peer=caller.address, code=code, who=caller.who
            )
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
        self._shared.event_log.request_failed(command.code, self._caller.address, error)
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
            self.last_active = self._time()
            self._write([encode_reply(opaque, reply, self._shared.serialize_type)])
            self._shared.outbox.flush()
            if self._blocked:
                self._count_unread(self._transport.get_write_buffer_size())
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

    def _end_turn(self) -> None:
        """Others first; what else this peer has sent waits, and it is not read from meanwhile."""
        self._paused = True
        self._transport.pause_reading()
        asyncio.get_running_loop().call_soon(self._next_turn)

    def _next_turn(self) -> None:
        if not self._blocked and not self._transport.is_closing():
            self._paused = False
            self._carry_on()

    def _count_unread(self, size: int) -> None:
        """Answers that the peer leaves unread take memory, up to a limit."""
        more, self._unread = size - self._unread, size
        if more:
            self._shared.buffers.hold(more)
        limit = self._shared.limits.settings.unread_bytes
        if limit and size > limit:
            self.exceed("unread_bytes", f"{size} bytes of answers are unread")

    def _write(self, pieces: list[bytes]) -> None:
        if not pieces or self._transport.is_closing():
            return
        if self._tls is not None:
            self._transport.write(self._tls.send(b"".join(pieces)))
        elif len(pieces[-1]) >= _LONG_BYTES:
            self._shared.outbox.flush()
            self._transport.writelines(pieces)  # what is long is not copied
        else:
            self._shared.outbox.put(self._transport, b"".join(pieces))

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
        self._shared.event_log.connection_closed(why, self._caller.address)
        self._end()

    def _end(self) -> None:
        """Send what is still to be sent, then close."""
        self._leave()
        self._shared.outbox.flush()
        if self._tls is not None:
            self._transport.write(self._tls.close())
        self._transport.close()

    def exceed(self, limit: str, why: str) -> None:
        """Close now, for it takes more than this limit allows."""
        self._shared.limits.exceeded[limit] += 1
        self._shared.event_log.connection_closed(why, self._caller.address)
        self._count_unread(0)
        self._peer.let_go()
        self._leave()
        self._transport.abort()

    def close(self, reason: DownReason) -> None:
        """Close now, for a reason that the tables are told. What the peer has not read is dropped."""
        self._reason = reason
        self._leave()
        self._shared.outbox.flush()
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
        return self._blocked

    @property
    def holds(self) -> int:
        """What it has in the buffers."""
        return self._peer.held + self._unread

    @property
    def frame_in_parts(self) -> int | None:
        """The number of the frame of which some has come and the rest is waited for, if there is one."""
        waits = self._peer.held and not self._paused and self._deferred < _MAX_DEFERRED
        return self._peer.frames_in_parts if waits else None

    @property
    def number(self) -> int:
        return self._caller.connection

    @property
    def address(self) -> str:
        return self._caller.address

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """Whom the peer's verified certificate names."""
        if self._tls is None:
            return ()
        if self._names is None:
            self._names = self._tls.names()
        return self._names

    def known_as(self, identity: Identity) -> None:
        """The request at hand comes from this identity."""
        caller = self._caller
        if caller.identity is not identity:
            self._caller = Caller(caller.connection, caller.address, identity)

    def drain(self) -> None:
        """Answer everything that has arrived, the socket's own buffer included; then say goodbye."""
        if self._owed is None and self._stage != _Stage.ENDED:
            self._quick = False
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
            self._shared.outbox.flush()
            if self._tls is not None:
                self._transport.write(self._tls.close())
            self._transport.write_eof()

    def _leave(self) -> None:
        self._stage = _Stage.ENDED
        self._quick = False
        self._opening = None


def _printed(peername: object) -> str:
    if not isinstance(peername, tuple) or len(peername) < 2:
        return "unknown"
    host, port = peername[0], peername[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _host_of(address: str) -> str:
    return address.rpartition(":")[0].strip("[]") or address


def _bytes_to_read(transport: asyncio.Transport) -> int:
    sock = transport.get_extra_info("socket")
    if sock is None or sock.fileno() < 0:
        return 0
    return int.from_bytes(fcntl.ioctl(sock.fileno(), termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)
