"""Checks the hash chain of a journal, and compares it with heads that other NameServers have seen. Pure."""

from collections.abc import Iterable

import msgspec

from routebook.journal.chain import START, Chain, ChainHead, link_of


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """A place where the chain shows a change. Records from `first` to `last` were altered, removed or added."""

    first: int
    last: int
    reason: str


class ChainCheck:
    """Receives the lines of a journal in order, then `finish`.

    `since` is the first linked record: records before it are not protected. `begins` is true if the chain starts there.
    `seen` counts the heads that were compared.
    """

    def __init__(self, witnesses: Iterable[ChainHead] = ()) -> None:
        self._heads: dict[int, set[str]] = {}
        for witness in witnesses:
            self._heads.setdefault(witness.seq, set()).add(witness.head)
        self._expected = sorted(self._heads)
        self._chain = Chain()
        self._linked = 0  # the last linked record
        self._last = 0
        self.since: int | None = None
        self.begins = False
        self.seen = 0
        self.breaks: list[Break] = []

    def add(self, seq: int, raw: bytes) -> None:
        """Add the next line, without its line feed."""
        link = link_of(raw)
        if link is None:
            self._chain.add(raw + b"\n")
        else:
            if self._chain.is_started and link != self._chain.head:
                reason = "the chain starts again" if link == START else "the hash of these records is different"
                self.breaks.append(Break(first=self._linked, last=seq, reason=reason))
            self._chain = Chain(raw + b"\n")
            self._linked = seq
            if self.since is None:
                self.since, self.begins = seq, link == START
        self._compare(seq)
        self._last = seq

    def finish(self) -> None:
        """The journal ends here: a head of a later record shows that its end is missing."""
        for seq in self._expected:
            self.breaks.append(
                Break(first=self._last + 1, last=seq, reason="the end is missing: another NameServer has seen it")
            )

    def _compare(self, seq: int) -> None:
        while self._expected and self._expected[0] <= seq:
            wanted = self._expected.pop(0)
            if self.since is None or wanted < self.since:
                continue  # removed by retention, or from before the chain
            self.seen += 1
            if wanted < seq:
                reason = "the record is missing: another NameServer has seen it"
                self.breaks.append(Break(first=wanted, last=wanted, reason=reason))
            elif self._heads[wanted] != {self._chain.head}:
                reason = "another NameServer has seen another hash"
                self.breaks.append(Break(first=self.since, last=wanted, reason=reason))
