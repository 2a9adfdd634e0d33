"""Route history: an index over the journal in one SQLite file, derived from the journal alone.

index/follower   IndexFollower: a thread that follows the journal      used by the server
query/history    History: route_at, brokers_at, timeline, sessions     used by the HTTP API and the command line
query/offline    open_offline: the same without a running server       used by the command line
query/answers    the returned structs                                  docs/history.md
"""

from typing import Final

INDEX_NAME: Final = "history.db"  # in the home folder
