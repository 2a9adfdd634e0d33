"""Objects that endpoints share; endpoints receive them as the parameters `parts` and `context`."""

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from routebook.peers.digest_cache import DigestCache
from routebook.server.http.auth.login_throttle import LoginThrottle
from routebook.server.http.auth.sessions import Sessions
from routebook.server.http.context import HttpContext
from routebook.server.http.lake.reader import LakeReader
from routebook.server.http.live.hub import Hub
from routebook.server.http.live.journal_window import JournalWindow
from routebook.server.http.thread_pool import ThreadPool
from routebook.server.http.views.metrics import Metrics
from routebook.server.http.views.topic_names import TopicNames, TopicSearch


class Parts:
    """`close` releases the threads and processes."""

    def __init__(self, context: HttpContext) -> None:
        self.context = context
        self.topic_names = TopicNames(context.nameserver.routes)
        self.topic_search = TopicSearch(self.topic_names)
        self.digests = DigestCache(context.nameserver.routes)
        self.threads = ThreadPool()
        self.hub = Hub(context, self.threads)
        if not context.only_controller:
            context.health.add("brokers", self.hub.fleet_health)
        self.lake = LakeReader()
        self.sessions = Sessions(context)
        self.throttle = LoginThrottle(max_failures=context.nameserver.settings.console.login_attempts)
        context.session_identity = self.sessions.identity
        self.metrics = Metrics(context)
        self.journal = (
            None
            if context.journal is None or context.journal_files is None
            else JournalWindow(context.journal_files, context.journal)
        )

    def close(self) -> None:
        self.threads.close()
        self.lake.close()
        if self.journal is not None:
            self.journal.close()


ContextDep = NamedDependency[SkipValidation[HttpContext]]
PartsDep = NamedDependency[SkipValidation[Parts]]
