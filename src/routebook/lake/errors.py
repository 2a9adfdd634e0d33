"""What can go wrong with a lake, as one tree; the HTTP API answers with `status` and `code`.

LakeError
├── NoLake             there is none at that place; `command` makes one
├── LakeExtraMissing   the packages that read or make a lake are not installed
├── NewerLake          it was written by a later release
├── BrokenLake         its catalog or one of its files cannot be read
├── NoJava             Spark needs a Java that is not there
├── NoJars             Iceberg's jars could not be had
├── SparkFailed        Spark did not start, or a job of it failed
├── LakeBusy           another process builds it just now
├── JournalUnreadable  a journal folder that cannot be read, or is none
└── QueryError         SQL that cannot be run; `position` is where in it
    └── QueryTimeout   it took too long and was ended
"""

from typing import Final

from routebook.errors import RoutebookError

INSTALL: Final = 'pip install "routebook[lake]"'


class LakeError(RoutebookError):
    """Root of the tree."""

    code = "lake-failed"
    status = 500


class NoLake(LakeError):
    """There is no lake at that place."""

    code = "no-lake"
    status = 404

    def __init__(self, path: str, *, why: str = "no lake is there") -> None:
        self.command = f"routebook lake build --lake {path}"
        super().__init__(f"{path}: {why}; make one with `{self.command}`, or name another with --lake")


class LakeExtraMissing(LakeError):
    """The packages that read or make a lake are not installed."""

    code = "lake-extra-missing"
    status = 404

    def __init__(self, missing: str) -> None:
        self.command = INSTALL
        super().__init__(f"the lake needs {missing}, which is not installed; {INSTALL} brings all of it")


class NewerLake(LakeError):
    """It was written by a later release."""

    code = "lake-newer"
    status = 409


class BrokenLake(LakeError):
    """Its catalog or one of its files cannot be read."""

    code = "lake-broken"
    status = 500


class NoJava(LakeError):
    """Spark needs a Java that is not there."""

    code = "no-java"
    status = 503


class NoJars(LakeError):
    """Iceberg's jars could not be had."""

    code = "no-jars"
    status = 503


class SparkFailed(LakeError):
    """Spark did not start, or a job of it failed."""

    code = "spark-failed"
    status = 503


class LakeBusy(LakeError):
    """Another process builds it just now."""

    code = "lake-busy"
    status = 409


class JournalUnreadable(LakeError):
    """A journal folder that cannot be read, or is none."""

    code = "journal-unreadable"
    status = 503


class QueryError(LakeError):
    """SQL that cannot be run. `position` counts characters from 1; None where nobody knows."""

    code = "bad-query"
    status = 400

    def __init__(self, message: str, *, sql: str, position: int | None = None) -> None:
        super().__init__(message)
        self.sql = sql
        self.position = position

    def shown(self) -> str:
        """The message, the line of SQL it is about, and a mark under the place."""
        if self.position is None:
            return str(self)
        before = self.sql[: self.position - 1]
        begin = before.rfind("\n") + 1
        line = self.sql[begin:].partition("\n")[0]
        number = before.count("\n") + 1
        prefix = f"line {number}: " if "\n" in self.sql.strip() else "  "
        return f"{self}\n{prefix}{line}\n{' ' * (len(prefix) + len(before) - begin)}^"


class QueryTimeout(QueryError):
    """It took too long and was ended."""

    code = "query-timeout"
    status = 503
