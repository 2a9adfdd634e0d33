"""`/v1/digest`: what another Routebook compares instead of all routes."""

from typing import Annotated

from litestar import get
from litestar.di import NamedDependency
from litestar.params import PathParameter, SkipValidation

from routebook.peers.digest import BUCKETS, BucketDigest, Digest
from routebook.peers.digests import Digests
from routebook.server.http.errors import Refusal, documented

Taken = NamedDependency[SkipValidation[Digests]]
Bucket = Annotated[int, PathParameter(description=f"a number below {BUCKETS}")]


@get("/v1/digest", summary="The route table in some hundred numbers")
async def digest(digests: Taken) -> Digest:
    """Two NameServers with the same digest have the same brokers and routes."""
    return await digests.digest()


@get("/v1/digest/{bucket:int}", summary="The topics of one bucket", responses=documented(400, 404))
async def bucket_digest(digests: Taken, bucket: Bucket) -> BucketDigest:
    """Where the digests of two NameServers differ in a bucket, this tells in which topics."""
    found = await digests.bucket(bucket)
    if found is None:
        raise Refusal(404, "there is no such bucket", f"buckets have numbers from 0 to {BUCKETS - 1}")
    return found
