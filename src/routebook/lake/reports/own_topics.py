"""RocketMQ's own topics, which exist once per broker or cluster. Reports of risks exclude them."""

from routebook.codes import SYSTEM_TOPICS
from routebook.doctor.checks import SYSTEM_PREFIXES
from routebook.lake.reports.scope import Scope, text


class OwnTopics:
    """The system topics, and those of the brokers and clusters in a lake."""

    def __init__(self, scope: Scope) -> None:
        table = "gold.broker_sessions"
        rows = scope.rows_unscoped(table, "SELECT DISTINCT broker, cluster FROM gold.broker_sessions")
        clusters = {row["cluster"] for row in rows if row["cluster"]}
        replies = {f"{cluster}_REPLY_TOPIC" for cluster in clusters}
        self._names = {row["broker"] for row in rows} | clusters | replies | SYSTEM_TOPICS

    def __contains__(self, topic: str) -> bool:
        return topic in self._names or topic.startswith(SYSTEM_PREFIXES)

    def sql(self, column: str) -> str:
        """An SQL condition: the column is such a topic."""
        prefixed = " OR ".join(f"starts_with({column}, {text(prefix)})" for prefix in SYSTEM_PREFIXES)
        return f"({column} IN ({', '.join(map(text, sorted(self._names)))}) OR {prefixed})"
