"""`/v1/digest`."""

from routebook.peers.digest import BUCKETS, bucket_of
from tests.support.asynchronous import asynchronous
from tests.support.http import rig


@asynchronous
async def test_digests() -> None:
    with rig() as some:
        some.asker.register("t", "u")
        async with some.client() as client:
            digest = (await client.get("/v1/digest")).json()
            assert (digest["topics"], len(digest["buckets"]), list(digest["groups"])) == (2, BUCKETS, ["broker-a"])
            bucket = (await client.get(f"/v1/digest/{bucket_of('t')}")).json()
            assert "t" in bucket["topics"]
            assert (await client.get("/v1/digest/1,256")).status_code == 404
            assert (await client.get("/v1/digest/x")).status_code in (400, 404)
