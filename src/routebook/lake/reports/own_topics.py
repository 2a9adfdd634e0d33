"""RocketMQ's own topics: each broker and cluster has some, on one broker by nature. Reports of risk leave them out."""

from routebook.doctor.topics import SYSTEM_PREFIXES, SYSTEM_TOPICS
from routebook.lake.reports.scope import Scope, text


class OwnTopics:
    """Those of the brokers and clusters that a lake knows."""

    def __init__(self, scope: Scope) -> None:
        table = "gold.broker_sessions"
        rows = scope.rows_of(table, "SELECT DISTINCT broker, cluster FROM gold.broker_sessions")
        clusters = {row["cluster"] for row in rows if row["cluster"]}
        replies = {f"{cluster}_REPLY_TOPIC" for cluster in clusters}
        self._names = {row["broker"] for row in rows} | clusters | replies | SYSTEM_TOPICS

    def __contains__(self, topic: str) -> bool:
        return topic in self._names or topic.startswith(SYSTEM_PREFIXES)

    def sql(self, column: str) -> str:
        """The same as a condition."""
        begins = " OR ".join(f"starts_with({column}, {text(prefix)})" for prefix in SYSTEM_PREFIXES)
        return f"({column} IN ({', '.join(map(text, sorted(self._names)))}) OR {begins})"
