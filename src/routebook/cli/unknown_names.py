"""Errors about unknown topics, with similar names that the NameServer knows."""

from routebook.cli.suggestions import did_you_mean
from routebook.client.client import NameServerClient
from routebook.errors import RoutebookError, TopicNotExist


async def with_similar_topics(client: NameServerClient, error: TopicNotExist, topic: str) -> TopicNotExist:
    """Return the error with the names of similar topics."""
    try:
        similar = did_you_mean(topic, await client.topics())
    except RoutebookError:
        return error
    text = (str(error).splitlines() or [""])[0].rstrip(".")
    found = TopicNotExist(f"{text}{similar}")
    found.address = error.address
    return found
