"""Whether two answers to one question say the same, where order, invented numbers and exception texts do not count."""

import json
import time
from collections.abc import Hashable, Mapping
from typing import Any, Final

from tests.support.compare import free_of_order, parse_body, quotes_exception, settings_text
from tests.support.differential.endpoint import Answer
from tests.support.differential.steps import Ask, OddRegister, Raw, Register
from tests.support.golden import LOCAL_KEYS
from tests.support.remoting_frames import Reply

SETTINGS: Final = 319
VERSION_4_9_4: Final = 401  # from here on a route comes in the standard profile, in which maps have an order
NOW_WITHIN_MS: Final = 600_000


def same(question: Ask | Register | OddRegister | Raw, reference: Answer, subject: Answer) -> bool:
    """Whether both replies are equivalent."""
    ends = (reference.closed, reference.silent, reference.leftover, len(reference.replies))
    if ends != (subject.closed, subject.silent, subject.leftover, len(subject.replies)):
        return False
    pairs = zip(reference.replies, subject.replies, strict=True)
    return all(_same_reply(question, left, right) for left, right in pairs)


def _same_reply(question: Ask | Register | OddRegister | Raw, reference: Reply, subject: Reply) -> bool:
    ignored = set()
    if isinstance(question, Raw) and not question.gives_opaque(reference.header["opaque"]):
        ignored.add("opaque")
    if quotes_exception(reference.remark) and subject.remark:
        ignored.add("remark")
    if _header(question, reference, ignored) != _header(question, subject, ignored):
        return False
    if reference.raw == subject.raw or reference.body == subject.body:
        return True
    return _body(question, reference) == _body(question, subject)


def _header(question: Ask | Register | OddRegister | Raw, reply: Reply, ignored: set[str]) -> Hashable:
    opaque = reply.header["opaque"]
    assert isinstance(question, Raw) or opaque == question.opaque, f"{question} was answered with opaque {opaque}"
    # the order of a header's own fields counts, that of extFields does not
    return tuple((key, free_of_order(value)) for key, value in reply.header.items() if key not in ignored)


def _body(question: Ask | Register | OddRegister | Raw, reply: Reply) -> Hashable:
    if not reply.body:
        return None
    if question.code == SETTINGS:
        settings = settings_text(reply.body)
        return free_of_order({key: value for key, value in settings.items() if key not in LOCAL_KEYS})
    try:
        body = parse_body(reply.body)
    except (json.JSONDecodeError, UnicodeDecodeError):
        return reply.body
    if isinstance(body, dict) and body.keys() == {"brokerAddr", "topicList"}:
        body["brokerAddr"] = "some address"  # 304, of some broker: Java takes the first that its hash table has
    return free_of_order(_without_now(body), maps_too=not _in_standard_profile(question))


def _in_standard_profile(question: Ask | Register | OddRegister | Raw) -> bool:
    if not isinstance(question, Ask) or question.code != 105:
        return False
    in_zone = (question.ext or {}).get("__ZONE_MODE", "").lower() == "true"
    return question.version >= VERSION_4_9_4 and not in_zone


def _without_now(value: Any) -> Any:
    """A data version without timestamp gets the time of its arrival."""
    if isinstance(value, Mapping):
        stamp = value.get("timestamp")
        if isinstance(stamp, int) and abs(time.time() * 1000 - stamp) < NOW_WITHIN_MS:
            return {**value, "timestamp": "now"}
    return value
