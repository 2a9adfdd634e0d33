"""What handlers are given by name; see app.py for where it comes from."""

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from routebook.server.http.api.metrics import Metrics
from routebook.server.http.context import HttpContext
from routebook.server.http.live.journal_window import JournalPast
from routebook.server.http.threads import Threads
from routebook.server.http.views.topic_names import TopicNames

Context = NamedDependency[SkipValidation[HttpContext]]
Journal = NamedDependency[SkipValidation[JournalPast | None]]
Scrape = NamedDependency[SkipValidation[Metrics]]
Thread = NamedDependency[SkipValidation[Threads]]
Topics = NamedDependency[SkipValidation[TopicNames]]
