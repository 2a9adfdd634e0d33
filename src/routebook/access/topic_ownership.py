"""Topic ownership: which topics an identity may announce or change. Pure.

An identity names its topics by patterns, `*` matches any text. Besides these a broker may announce

- the system topics, except TBW102: it attracts messages to topics that do not exist yet
- the topics named after its own cluster and broker
- retry, dead-letter and other `%` topics, which are named after consumer groups; if one of the patterns begins with
  `%`, only those that match
"""

import re
from functools import lru_cache
from typing import Final

from routebook.codes import AUTO_CREATE_TOPIC, SYSTEM_TOPIC_PREFIXES, SYSTEM_TOPICS

_GROUP_MARK: Final = "%"


def owns(patterns: tuple[str, ...], topic: str) -> bool:
    """Whether one of the patterns matches."""
    return _compiled(patterns).fullmatch(topic) is not None


def may_announce(patterns: tuple[str, ...], topic: str, *, cluster: str, broker: str) -> bool:
    """Whether a broker of an identity with these patterns may announce the topic."""
    if owns(patterns, topic):
        return True
    if topic.startswith(_GROUP_MARK):
        return not any(pattern.startswith(_GROUP_MARK) for pattern in patterns)
    if topic in (broker, cluster, f"{cluster}_REPLY_TOPIC"):
        return True
    return (topic in SYSTEM_TOPICS and topic != AUTO_CREATE_TOPIC) or topic.startswith(SYSTEM_TOPIC_PREFIXES)


@lru_cache(maxsize=4096)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(".*".join(map(re.escape, pattern.split("*"))) for pattern in patterns), re.DOTALL)
