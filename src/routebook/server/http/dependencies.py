"""What handlers are given by name; see app.py for where it comes from."""

from typing import Annotated

from litestar.params import Dependency

from routebook.server.http.context import HttpContext
from routebook.server.http.past import JournalPast
from routebook.server.http.threads import Threads
from routebook.server.http.topic_names import TopicNames

Context = Annotated[HttpContext, Dependency(skip_validation=True)]
Journal = Annotated[JournalPast | None, Dependency(skip_validation=True)]
Topics = Annotated[TopicNames, Dependency(skip_validation=True)]
Thread = Annotated[Threads, Dependency(skip_validation=True)]
