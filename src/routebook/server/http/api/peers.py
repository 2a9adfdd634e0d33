"""`/v1/peers`: how this NameServer and others agree."""

import msgspec
from litestar import get

from routebook.peers.monitor import PeerStatus
from routebook.server.http.api.dependencies import Context
from routebook.server.http.errors import Refusal, documented


class PeersAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One entry per peer."""

    peers: list[PeerStatus]


@get("/v1/peers", summary="How this NameServer and its peers agree", responses=documented(503))
async def peers(context: Context) -> PeersAnswer:
    if context.peers is None:
        raise Refusal(503, "no peers are compared here", "name them with routebook.peers=HOST:PORT,…")
    return PeersAnswer(peers=context.peers.report())
