"""`/v1/peers` and `/v1/digest`: continuous comparison with other NameServers."""

from typing import Annotated

import msgspec
from litestar import get
from litestar.params import PathParameter

from routebook.peers.digest import BUCKETS, BucketDigest, Digest
from routebook.peers.monitor import PeerStatus
from routebook.server.http.api.dependencies import ContextDep, DigestsDep
from routebook.server.http.errors import ApiError, error_specs

Bucket = Annotated[int, PathParameter(description=f"a number below {BUCKETS}")]


class PeersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry per peer."""

    peers: list[PeerStatus]


@get("/v1/peers", summary="Differences between this NameServer and its peers", responses=error_specs(503))
async def peers(context: ContextDep) -> PeersAnswer:
    if context.peers is None:
        raise ApiError(503, "no peers are configured", "set routebook.peers=HOST:PORT,…")
    return PeersAnswer(peers=context.peers.report())


@get("/v1/digest", summary="Digest of the route tables")
async def digest(digests: DigestsDep) -> Digest:
    """Two NameServers with the same digest have the same brokers and routes."""
    return await digests.digest()


@get("/v1/digest/{bucket:int}", summary="Digests of the topics in one bucket", responses=error_specs(404))
async def bucket_digest(digests: DigestsDep, bucket: Bucket) -> BucketDigest:
    """Shows in which topics two NameServers differ whose digests differ in this bucket."""
    found = await digests.bucket(bucket)
    if found is None:
        raise ApiError(404, "bucket not found", f"the buckets are 0 to {BUCKETS - 1}")
    return found
