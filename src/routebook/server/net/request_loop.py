"""The request loop: takes complete requests from a connection, dispatches them and writes the answers."""

import asyncio
from collections.abc import Sequence
from time import perf_counter_ns
from typing import Final

from routebook.codes import FLAG_ONEWAY, FLAG_RESPONSE, RequestCode, ResponseCode
from routebook.errors import FrameTooLong, ProtocolError
from routebook.server.net.connection_state import Event
from routebook.server.net.flow_control import FLUSH_BYTES, MAX_DEFERRED, TURN_NS, FlowControl
from routebook.server.net.requester import Requester
from routebook.server.net.service import AnswerLater, internal_error
from routebook.server.net.shared import Shared
from routebook.wire.command import Reply
from routebook.wire.peer import Peer

_LOOKUP: Final = int(RequestCode.GET_ROUTEINFO_BY_TOPIC)
_LEARNED: Final = (int(ResponseCode.SUCCESS), int(ResponseCode.TOPIC_NOT_EXIST))


def answer_lookup(shared: Shared, requester: Requester, transport: asyncio.Transport, data: bytes) -> bool:
    """Fast path: answer one known look-up. False: `data` is something else."""
    lookup, admission, permit = shared.fast_lookup, shared.protection.admission.current, None
    if lookup is None or (admission is not None and (permit := admission.look_up_permit(requester)) is None):
        return False
    began_ns = perf_counter_ns()
    found = lookup.answer_at(requester.caller, data, 0, permit, None, len(data))
    if found is None:
        return False
    pieces: Sequence[bytes] = found[1]
    traffic = shared.traffic
    if pieces[3]:
        traffic.counts.look_ups += 1
    else:
        traffic.counts.add_look_ups(1, missing=1)
    if requester.tls is not None:
        pieces = (requester.tls.send(b"".join(pieces)),)
    shared.outbox.put(transport, pieces)
    requester.has_sent_request = True
    traffic.latencies.look_up(perf_counter_ns() - began_ns)
    return True


def answer_requests(
    shared: Shared, requester: Requester, peer: Peer, flow: FlowControl, answer_later: AnswerLater
) -> Event | None:
    """Answer the complete requests that have arrived, in one write.

    Returns why requests may be left: the turn is over (PAUSE), or too many answers are deferred (DEFERRED_LIMIT).
    Raises ProtocolError if the bytes are not a frame.
    """
    answers = list[bytes]()
    answer, encode, traffic = shared.service.answer, shared.encode, shared.traffic
    counts, admission = traffic.counts, shared.protection.admission.current
    fast_lookup = shared.fast_lookup
    permit = None if admission is None else admission.look_up_permit(requester)
    is_fast = fast_lookup is not None and (admission is None or permit is not None)
    size = code = served = now_ms = 0
    stopped_by: Event | None = None
    began_ns = perf_counter_ns()
    try:
        while True:
            data, at = peer.rest
            if is_fast and fast_lookup is not None and type(data) is bytes:
                room = FLUSH_BYTES - size
                end, count, missing, more = fast_lookup.answer(
                    requester.caller, data, at, answers, max_bytes=room, permit=permit
                )
                if count:
                    code = _LOOKUP
                    counts.add_look_ups(count, missing=missing)
                    served += count
                    size += more
                    peer.skip_to(end)
                    if end == len(data):
                        break
                    at = end
            if size >= FLUSH_BYTES:
                flow.write(answers)
                answers.clear()
                size = 0
                if not flow.flush():
                    break
            if perf_counter_ns() - began_ns >= TURN_NS and served:
                stopped_by = Event.PAUSE
                break
            if flow.deferred >= MAX_DEFERRED or flow.in_order is not None:
                stopped_by = Event.DEFERRED_LIMIT
                break
            command = peer.next_command()
            if command is None:
                break
            if command.flag & FLAG_RESPONSE:
                continue  # this server sends no requests over accepted connections
            code = command.code
            counts.requests[code] += 1
            served += 1
            now_ms = now_ms or shared.now_ms()
            reply: Reply | None
            try:
                if admission is None or (reply := admission.refusal(requester, command)) is None:
                    reply = answer(command, requester.caller, now_ms, answer_later)
            except Exception as error:  # noqa: BLE001  around one request: the connection stays open
                shared.recording.event_log.request_failed(code, requester.caller.address, error)
                reply = internal_error(code, error)
            if reply is None:
                flow.deferred += 1
                if code in shared.service.ordered_codes:
                    flow.in_order = command.opaque
            elif not command.flag & FLAG_ONEWAY:
                counts.responses[reply.code] += 1
                frame = encode(command.opaque, reply)
                answers.append(frame)
                size += len(frame)
                if code == _LOOKUP and fast_lookup is not None and reply.code in _LEARNED and type(data) is bytes:
                    if admission is not None:
                        permit = admission.look_up_permit(requester)
                        is_fast = permit is not None
                    if is_fast:
                        fast_lookup.learn(command, reply, data, at, permit)
    except ProtocolError as error:
        flow.write(answers)
        if isinstance(error, FrameTooLong):
            shared.protection.limits.exceeded["frame_bytes"] += 1
        raise
    flow.write(answers)
    if served:
        requester.has_sent_request = True
        now_ns = perf_counter_ns()
        requester.host.spend(now_ns - began_ns, now_ns)
        if requester.account is not None:
            requester.account.spend(now_ns - began_ns, now_ns)
        traffic.latencies.add(code, served, now_ns - began_ns)
    return stopped_by


def answer_deferred(shared: Shared, flow: FlowControl, opaque: int, reply: Reply) -> None:
    """Write an answer that was deferred."""
    shared.traffic.counts.responses[reply.code] += 1
    flow.write([shared.encode(opaque, reply)])
    flow.flush()
    flow.count_unread()
