"""Log lines: text and JSON format, escaping, length limits."""

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routebook.server.observe.log import Log, configure, escape, get_log


@pytest.fixture(autouse=True)
def _restored_logging() -> Iterator[None]:
    root, own = logging.getLogger(), logging.getLogger("routebook")
    before = root.handlers[:], root.level, own.level
    yield
    root.handlers[:], levels = before[0], before[1:]
    root.setLevel(levels[0])
    own.setLevel(levels[1])


def logged(act: Callable[[Log], None], *, form: str = "text", level: str = "info", colour: bool = False) -> str:
    stream = io.StringIO()
    configure(form=form, level=level, stream=stream, colour=colour)
    act(get_log("part"))
    return stream.getvalue()


def test_text_is_one_readable_line() -> None:
    line = logged(lambda log: log.info("broker up", cluster="c1", broker="b-a", id=0, addr="10.0.0.1:10911"))
    at, rest = line.split(" ", 1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at)
    assert rest == "INFO  broker up  cluster=c1 broker=b-a id=0 addr=10.0.0.1:10911\n"


def test_json_is_one_object_with_the_same_fields() -> None:
    line = logged(lambda log: log.warning("broker down", broker="b/中", id=1, none=None, yes=True), form="json")
    found = json.loads(line)
    datetime.fromisoformat(found.pop("at"))
    assert found == {
        "level": "warning",
        "event": "broker down",
        "broker": "b/中",
        "id": 1,
        "none": None,
        "yes": True,
    }
    assert line.count("\n") == 1


def test_values_of_each_type() -> None:
    line = logged(
        lambda log: log.error("x", a=None, b=True, c=1.5, d=("p", "q r"), e="", f='say "hi"', g="k=v", h="\\")
    )
    assert line.endswith('ERROR x  a=- b=true c=1.5 d=p,"q r" e="" f="say \\"hi\\"" g="k=v" h="\\\\"\n')


def test_a_field_name_may_equal_a_reserved_key() -> None:
    line = logged(lambda log: log.info("x", event="y", level=3), form="json")
    assert json.loads(line)["event"] == "x"
    assert json.loads(line)["event_"] == "y"
    assert json.loads(line)["level_"] == 3


def test_lines_below_the_level_are_omitted() -> None:
    assert logged(lambda log: log.info("x"), level="warning") == ""
    assert logged(lambda log: log.debug("x"), level="debug").endswith("DEBUG x\n")
    assert not get_log().enabled("info") or get_log().enabled("error")


def test_colour_is_optional() -> None:
    assert "\x1b" not in logged(lambda log: log.error("x"))
    assert logged(lambda log: log.error("x"), colour=True).startswith("\x1b[31m")


HOSTILE = "a\n2026-01-01T00:00:00.000Z INFO  forged\r\x1b[2J\x9b31m\u202egpj\u2066\u2028\x00\x7f\ud800"


@pytest.mark.parametrize("form", ["text", "json"])
def test_control_characters_are_escaped(form: str) -> None:
    line = logged(lambda log: log.info("x", topic=HOSTILE, topics=[HOSTILE]), form=form)
    assert line.count("\n") == 1
    assert line[:-1].isprintable()


def test_escaped_text_is_readable() -> None:
    line = logged(lambda log: log.info("x", topic="a\n\x1b\u202e😀\\n"))
    assert line.endswith('topic="a\\n\\x1b\\u202e😀\\\\n"\n')


@given(st.text())
def test_any_text_is_one_printable_line_and_survives_json(text: str) -> None:
    stream = io.StringIO()
    configure(form="json", level="info", stream=stream)
    get_log().info("x", value=text)
    assert stream.getvalue()[:-1].isprintable()
    assert json.loads(stream.getvalue())["value"] == text
    assert escape(text).isprintable()


def test_long_values_are_cut() -> None:
    for form in ("text", "json"):
        line = logged(lambda log: log.info("x", value="v" * 100_000, values=["w"] * 1000), form=form)
        assert len(line) < 2000
        assert "98976" in line  # how much is missing


def test_an_unexpected_error_has_its_traceback_on_the_same_line() -> None:
    def act(log: Log) -> None:
        try:
            raise ValueError("bad\nthing")
        except ValueError as error:
            log.unexpected("request failed", error, code=103)

    line = logged(act)
    assert line.count("\n") == 1
    assert "request failed  code=103 trace=" in line
    assert "ValueError: bad\\nthing" in line
    assert "test_log.py" in line


def test_other_libraries_log_in_the_same_format() -> None:
    stream = io.StringIO()
    configure(form="text", level="error", stream=stream)
    logging.getLogger("asyncio").warning("slow %s", "callback\n")
    logging.getLogger("asyncio").info("chatter")
    assert stream.getvalue().endswith("WARN  slow callback\\n  logger=asyncio\n")
    assert stream.getvalue().count("\n") == 1


def test_configure_replaces_the_handler() -> None:
    first = io.StringIO()
    configure(form="text", level="info", stream=first)
    assert logged(lambda log: log.info("x")) != ""
    assert first.getvalue() == ""


def test_a_failing_stream_does_not_raise(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    configure(form="text", level="info", stream=stream)
    stream.close()
    get_log().info("x")
    assert capsys.readouterr() == ("", "")
