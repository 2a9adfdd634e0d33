"""Objects that endpoints receive by parameter name; app.py provides them."""

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

ContextDep = NamedDependency[SkipValidation[HttpContext]]
DigestsDep = NamedDependency[SkipValidation[DigestCache]]
HubDep = NamedDependency[SkipValidation[Hub]]
JournalDep = NamedDependency[SkipValidation[JournalWindow | None]]
LakeDep = NamedDependency[SkipValidation[LakeReader]]
MetricsDep = NamedDependency[SkipValidation[Metrics]]
SearchDep = NamedDependency[SkipValidation[TopicSearch]]
SessionsDep = NamedDependency[SkipValidation[Sessions]]
ThreadsDep = NamedDependency[SkipValidation[ThreadPool]]
ThrottleDep = NamedDependency[SkipValidation[LoginThrottle]]
TopicNamesDep = NamedDependency[SkipValidation[TopicNames]]
