"""Errors of the lake. The HTTP API returns their `status` and `code`.

LakeError
├── NoLake             no lake at this path; `command` creates one
├── LakeExtraMissing   the packages of the lake extra are not installed
├── NewerLake          written by a later release
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

from typing import Final

from routebook.errors import RoutebookError

INSTALL: Final = 'pip install "routebook[lake]"'


class LakeError(RoutebookError):
    """Root of the tree."""

    code = "lake-failed"
    status = 500


class NoLake(LakeError):
    """No lake exists at this path."""

    code = "no-lake"
    status = 404

    def __init__(self, path: str, *, why: str = "no lake here") -> None:
        self.command = f"routebook lake build --lake {path}"
        super().__init__(f"{path}: {why}; create one with `{self.command}`, or choose another with --lake")


class LakeExtraMissing(LakeError):
    """The packages of the lake extra are not installed."""

    code = "lake-extra-missing"
    status = 404

    def __init__(self, missing: str) -> None:
        self.command = INSTALL
        super().__init__(f"the lake needs {missing}, which is not installed; run {INSTALL}")


class NewerLake(LakeError):
    """The lake was written by a later release."""

    code = "lake-newer"
    status = 409


class BrokenLake(LakeError):
    """The catalog or a file of the lake cannot be read."""

    code = "lake-broken"
    status = 500


class NoJava(LakeError):
    """No suitable Java for Spark was found."""

    code = "no-java"
    status = 503


class NoJars(LakeError):
    """The Iceberg jars cannot be downloaded."""

    code = "no-jars"
    status = 503


class SparkFailed(LakeError):
    """Spark did not start, or a job failed."""

    code = "spark-failed"
    status = 503


class LakeBusy(LakeError):
    """Another process is building the lake."""

    code = "lake-busy"
    status = 409


class CommitConflict(LakeBusy):
    """Another process committed to the same table."""


class JournalUnreadable(LakeError):
    """A journal folder cannot be read."""

    code = "journal-unreadable"
    status = 503


class QueryError(LakeError):
    """Invalid SQL. `position` counts characters from 1; None if unknown."""

    code = "bad-query"
    status = 400

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


class QueryTimeout(QueryError):
    """The query exceeded its time limit."""

    code = "query-timeout"
    status = 503
