"""One comparison with one peer, with as few requests as possible.

Routebook   its digest; 106 and 105 for what differs                             no difference: one request
other       106, 206, and 105 for topics that only one side has, for topics that
            differed in the last round, and for a rotating sample of the others  two requests plus `SAMPLE`
"""

import asyncio
from collections.abc import Sequence
from itertools import chain
from typing import Final

import msgspec

from routebook.client.bulk import fetch_topics
from routebook.client.client import NameServerClient
from routebook.disagreements import Disagreement, View, disagreements, without_order_config
from routebook.errors import TopicNotExist
from routebook.journal.chain import ChainHead
from routebook.model import ClusterInfo, RoutePolicy, TopicRoute
from routebook.peers.digest import FORMAT, BucketDigest, Digest
from routebook.peers.digest_cache import DigestCache
from routebook.peers.fetch import PeerHttp
from routebook.routes import RouteTable

SAMPLE: Final = 50  # topics of the rotating sample
MAX_TOPICS: Final = 1000  # in one round; the next round continues
_DEFAULT_POLICY: Final = RoutePolicy()
HERE: Final = "here"


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a comparison. `topics` are the compared topics; None means all."""

    found: list[Disagreement]
    topics: frozenset[str] | None
    by: str  # digest or sample
    requests: int
    chains: tuple[ChainHead, ...] = ()  # heads of the peer's journal


class Comparison:
    """Compares this NameServer with one peer."""

    def __init__(self, routes: RouteTable, client: NameServerClient, *, peer: str, fetch: PeerHttp | None) -> None:
        self._routes = routes
        self._client = client
        self._peer = peer
        self._fetch = fetch
        self._digests = DigestCache(routes)
        self._position = 0

    async def round(self, suspects: Sequence[str]) -> Round:
        """Compare once; `suspects` are topics that differed in the last round. Raises RoutebookError."""
        if self._fetch is not None:
            theirs = await self._fetch.get("/v1/digest", Digest)
            if theirs is not None and theirs.format == FORMAT:
                found = await self._by_digest(self._fetch, theirs, suspects)
                return msgspec.structs.replace(found, chains=theirs.chains)
        return await self._by_sample(suspects)

    async def _by_digest(self, fetch: PeerHttp, theirs: Digest, suspects: Sequence[str]) -> Round:
        ours = await self._digests.digest()
        pairs = enumerate(zip(ours.buckets, theirs.buckets, strict=False))
        buckets = [number for number, (mine, other) in pairs if mine != other]
        topics = {*suspects, *(await self._differing_topics(fetch, buckets) if buckets else ())}
        requests = 2 if buckets else 1
        if not topics and ours.groups == theirs.groups:
            return Round(found=[], topics=None, by="digest", requests=requests)
        info = await self._client.cluster_info()
        chosen = self._next_part(sorted(topics), MAX_TOPICS)
        found = await self._differences(info, chosen)
        compared = None if len(chosen) == len(topics) else frozenset(chosen)
        return Round(found=found, topics=compared, by="digest", requests=requests + 1 + len(chosen))

    async def _differing_topics(self, fetch: PeerHttp, numbers: Sequence[int]) -> list[str]:
        theirs = await fetch.get(f"/v1/digest/{','.join(map(str, numbers))}", BucketDigest)
        ours = await self._digests.buckets(frozenset(numbers))
        if theirs is None or ours is None:
            return []
        return [t for t in sorted({*ours.topics, *theirs.topics}) if ours.topics.get(t) != theirs.topics.get(t)]

    async def _by_sample(self, suspects: Sequence[str]) -> Round:
        info = await self._client.cluster_info()
        there = set(await fetch_topics(self._client, info))
        here = self._routes.topic_table.keys()
        one_sided = sorted(there ^ here)
        chosen = dict.fromkeys(chain(suspects, one_sided, self._next_part(sorted(there & here), SAMPLE)))
        topics = list(chosen)[:MAX_TOPICS]
        found = await self._differences(info, topics)
        return Round(found=found, topics=frozenset(topics), by="sample", requests=2 + len(topics))

    def _next_part(self, topics: Sequence[str], count: int) -> list[str]:
        """Return the next topics of a rotation, or all of them if they are few."""
        if len(topics) <= count:
            return [*topics]
        start = self._position % len(topics)
        self._position = start + count
        return [*topics[start : start + count], *topics[: max(0, start + count - len(topics))]]

    async def _differences(self, info: ClusterInfo, topics: Sequence[str]) -> list[Disagreement]:
        """Compare these topics; the local routes are read last, close in time to the peer's."""
        there: dict[str, TopicRoute] = {}
        for topic in topics:
            try:
                there[topic] = await self._client.route(topic)
            except TopicNotExist:
                await asyncio.sleep(0)
        here = {topic: route for topic in topics if (route := self._routes.route(topic, _DEFAULT_POLICY)) is not None}
        mine = View(who=HERE, info=self._routes.cluster_info(), routes=without_order_config(here))
        return disagreements([mine, View(who=self._peer, info=info, routes=without_order_config(there))])
