"""Errors of the JVM in one line."""

from types import SimpleNamespace
from typing import Any

from routebook.lake.spark.jvm import reason_of


def _java(name: str, message: str | None, cause: Any = None) -> Any:
    return SimpleNamespace(
        getClass=lambda: SimpleNamespace(getSimpleName=lambda: name),
        getMessage=lambda: message,
        getCause=lambda: cause,
    )


class _Error(Exception):
    def __init__(self, text: str, java: Any = None) -> None:
        super().__init__(text)
        self.java_exception = java


def test_the_innermost_cause_with_a_message_is_the_reason() -> None:
    lock = _java("SQLiteException", "database is locked\n  at somewhere")
    commit = _java("CommitFailedException", "Cannot commit", _java("Wrapped", None, lock))
    error = _Error("An error occurred while calling o118.commit.", commit)
    assert reason_of(error) == "SQLiteException: database is locked"
    assert reason_of(_Error("calling", _java("NoSuchTableException", "gold.x"))) == "NoSuchTableException: gold.x"


def test_without_a_java_exception_the_text_has_the_reason() -> None:
    assert reason_of(_Error("Job aborted\nCaused by: java.io.IOException: no space\n\tat x")) == (
        "Caused by: java.io.IOException: no space"
    )
    assert reason_of(_Error("connection refused")) == "connection refused"
    assert reason_of(_Error("")) == "_Error"
