"""Errors of the lake. The HTTP API returns their `status` and `code`.

LakeError
├── NoLake             no lake at this path; `command` creates one
├── LakeExtraMissing   the packages of the lake extra are not installed
├── NewerLake          written by a later release
├── OutdatedLake       built by an earlier release; the next build updates it
├── BrokenLake         the catalog or a file cannot be read
├── NoJava             no suitable Java for Spark
├── NoJars             the Iceberg jars cannot be downloaded
├── SparkFailed        Spark did not start, or a job failed
├── LakeBusy           another process is building the lake
│   └── CommitConflict another process committed to the same table
├── JournalUnreadable  a journal folder cannot be read
└── QueryError         invalid SQL; `position` is the location of the error
    └── QueryTimeout   the query exceeded its time limit
"""

from typing import ClassVar, Final

from routebook.errors import RoutebookError

INSTALL: Final = 'pip install "routebook[lake]"'


class LakeError(RoutebookError):
    """Root of the tree. Subclasses set `code` and `status` as class arguments."""

    code: ClassVar[str] = "lake-failed"
    status: ClassVar[int] = 500

    def __init_subclass__(cls, *, code: str | None = None, status: int | None = None) -> None:
        super().__init_subclass__()
        if code is not None:
            cls.code = code
        if status is not None:
            cls.status = status


class NoLake(LakeError, code="no-lake", status=404):
    """No lake exists at this path."""

    def __init__(self, path: str, *, why: str = "no lake here") -> None:
        self.command = f"routebook lake build --lake {path}"
        super().__init__(f"{path}: {why}; create one with `{self.command}`, or choose another with --lake")


class LakeExtraMissing(LakeError, code="lake-extra-missing", status=404):
    """The packages of the lake extra are not installed."""

    def __init__(self, missing: str) -> None:
        self.command = INSTALL
        super().__init__(f"the lake needs {missing}, which is not installed; run {INSTALL}")


class NewerLake(LakeError, code="lake-newer", status=409):
    """The lake was written by a later release."""


class OutdatedLake(LakeError, code="lake-outdated", status=409):
    """Tables of the lake were built by an earlier release."""


class BrokenLake(LakeError, code="lake-broken", status=500):
    """The catalog or a file of the lake cannot be read."""


class NoJava(LakeError, code="no-java", status=503):
    """No suitable Java for Spark was found."""


class NoJars(LakeError, code="no-jars", status=503):
    """The Iceberg jars cannot be downloaded."""


class SparkFailed(LakeError, code="spark-failed", status=503):
    """Spark did not start, or a job failed."""


class LakeBusy(LakeError, code="lake-busy", status=409):
    """Another process is building the lake."""


class CommitConflict(LakeBusy):
    """Another process committed to the same table."""


class JournalUnreadable(LakeError, code="journal-unreadable", status=503):
    """A journal folder cannot be read."""


class QueryError(LakeError, code="bad-query", status=400):
    """Invalid SQL. `position` counts characters from 1; None if unknown."""

    def __init__(self, message: str, *, sql: str, position: int | None = None) -> None:
        super().__init__(message)
        self.sql = sql
        self.position = position

    def shown(self) -> str:
        """The message, the line of SQL, and a caret under the position."""
        if self.position is None:
            return str(self)
        before = self.sql[: self.position - 1]
        begin = before.rfind("\n") + 1
        line = self.sql[begin:].partition("\n")[0]
        number = before.count("\n") + 1
        prefix = f"line {number}: " if "\n" in self.sql.strip() else "  "
        return f"{self}\n{prefix}{line}\n{' ' * (len(prefix) + len(before) - begin)}^"


class QueryTimeout(QueryError, code="query-timeout", status=503):
    """The query exceeded its time limit."""
