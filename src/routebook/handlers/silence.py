"""Decides whether enough brokers are silent to suspect the network, counted in three ways. Pure.

names        a broker name is silent if more than the share of its members is
hosts        the addresses that brokers connect from
identities   the authenticated senders; without authentication all brokers have the same one

Each way, more than the share has to be silent; of names also at least the minimum. So one name with many members, one
host with many names, or one identity cannot exceed the share alone.
"""

from collections.abc import Collection, Hashable, Iterable
from typing import NamedTuple

from routebook.settings import ExpiryProtectionSettings


class Sender(NamedTuple):
    """One broker process that is silent or not."""

    names: Collection[str]
    host: str
    identity: str | None
    is_silent: bool


def is_mass_silence(senders: Collection[Sender], settings: ExpiryProtectionSettings) -> bool:
    """Whether too many of the known brokers are silent."""
    names = [(name, sender.is_silent) for sender in senders for name in sender.names]
    hosts = [(sender.host, sender.is_silent) for sender in senders]
    identities = [(sender.identity, sender.is_silent) for sender in senders]
    share = settings.share
    return (
        _exceeds(names, share=share, minimum=settings.minimum)
        and _exceeds(hosts, share=share)
        and _exceeds(identities, share=share)
    )


def _exceeds(members: Iterable[tuple[Hashable, bool]], *, share: int, minimum: int = 1) -> bool:
    known: dict[Hashable, int] = {}
    silent: dict[Hashable, int] = {}
    for group, is_silent in members:
        known[group] = known.get(group, 0) + 1
        silent[group] = silent.get(group, 0) + is_silent
    count = sum(silent[group] * 100 > known[group] * share for group in known)
    return count >= minimum and count * 100 > len(known) * share
