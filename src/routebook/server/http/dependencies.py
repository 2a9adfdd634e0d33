"""What handlers are given by name; see app.py for where it comes from."""

from litestar.di import NamedDependency
from litestar.params import SkipValidation

from routebook.server.http.context import HttpContext
from routebook.server.http.past import JournalPast
from routebook.server.http.threads import Threads
from routebook.server.http.topic_names import TopicNames
from routebook.server.metrics import Metrics

Context = NamedDependency[SkipValidation[HttpContext]]
Journal = NamedDependency[SkipValidation[JournalPast | None]]
Scrape = NamedDependency[SkipValidation[Metrics]]
Thread = NamedDependency[SkipValidation[Threads]]
Topics = NamedDependency[SkipValidation[TopicNames]]
