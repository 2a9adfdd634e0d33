"""Authorization: decides whether an identity may send a request, on the NameServer port and over HTTP."""

from typing import Final

import msgspec

from routebook.access.classes import Access
from routebook.access.identity import Identity
from routebook.access.topic_ownership import owns

_MAX_NAMED: Final = 3


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What a request would change: clusters, brokers and topics, all topics of these brokers, or the whole server.

    A registration (103) names its topics in its body; its handler checks them.
    """

    clusters: frozenset[str] = frozenset()
    brokers: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    all_topics: bool = False
    whole_server: bool = False


NOTHING: Final = Target()


def decide(identity: Identity, needed: tuple[Access, ...], *, host: str, target: Target = NOTHING) -> str | None:
    """None if it is allowed, otherwise the reason for the log and the reply. One class of `needed` is sufficient."""
    if not identity.allows_host(host):
        return f"{identity.name} is not allowed from this address"
    if needed and not any(map(identity.may, needed)):
        return f"{identity.name} has no {' or '.join(needed)}"
    if not identity.is_limited:
        return None
    if target.whole_server:
        limited = f"{identity.name} is limited to some clusters, brokers or topics"
        return f"{limited}, and this request affects the whole NameServer"
    if identity.clusters is not None and (others := target.clusters - identity.clusters):
        return f"{identity.name} may not change cluster {named(others)}"
    if identity.brokers is not None and (others := target.brokers - identity.brokers):
        return f"{identity.name} may not act for broker {named(others)}"
    if identity.topics is not None:
        if target.all_topics:
            return f"{identity.name} is limited to some topics, and this request affects all topics of a broker"
        patterns = identity.topics
        if others := frozenset(topic for topic in target.topics if not owns(patterns, topic)):
            return f"{identity.name} may not change topic {named(others)}"
    return None


def named(names: frozenset[str]) -> str:
    """The first names, for a message."""
    shown = ", ".join(name[:64] if name.isprintable() else ascii(name[:64]) for name in sorted(names)[:_MAX_NAMED])
    return shown if len(names) <= _MAX_NAMED else f"{shown} and {len(names) - _MAX_NAMED} more"
