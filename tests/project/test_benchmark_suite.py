"""The benchmarks themselves: the load generator counts and times correctly, and the pages contain its results."""

import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.suite import native, peers, plans, report
from benchmarks.suite.charts import Bars, bar_chart, curve_chart
from benchmarks.suite.results import Goal, Point, Results, Row, load, save
from routebook.access.signature import sign
from routebook.wire.codec import encode_reply
from routebook.wire.command import Command, Reply, SerializeType
from routebook.wire.peer import Peer

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
needs_linux = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="not Linux")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def row(**values: list[float]) -> Row:
    return Row("key", "a figure", "µs", dict(values), (Goal("java", "<=", 0.5), Goal("rust", ">=", 3.0)))


@pytest.mark.parametrize("path", sorted((ROOT / "benchmarks").glob("*.py")), ids=lambda path: path.stem)
def test_each_program_starts(path: Path) -> None:
    command = [sys.executable, "-m", f"benchmarks.{path.stem}", "--help"]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert asked.returncode == 0, asked.stderr
    assert "usage:" in asked.stdout


def test_make_runs_programs_that_exist() -> None:
    named = re.findall(r"python -m (benchmarks\S*)", (ROOT / "Makefile").read_text())
    assert named
    assert [name for name in named if not (ROOT / f"{name.replace('.', '/')}.py").exists()] == []
    assert "python benchmarks/" not in (ROOT / "Makefile").read_text(), "as modules: they use one another"


class TestFigures:
    def test_a_ratio_is_the_median_of_the_rounds_ratios(self) -> None:
        figure = row(routebook=[1.0, 2.0, 30.0], java=[2.0, 4.0, 10.0])
        assert figure.ratio("java") == 0.5
        assert figure.ratio("limit") is None
        assert figure.median("routebook") == 2.0

    def test_spread_is_half_the_distance_of_the_quartiles(self) -> None:
        assert row(routebook=[8.0, 9.0, 10.0, 11.0, 12.0]).spread("routebook") == pytest.approx(0.1)
        assert row(routebook=[8.0]).spread("routebook") == 0.0

    def test_the_table_says_which_goals_are_met(self) -> None:
        line = report.table([row(routebook=[1.0], java=[2.0], rust=[1.0])]).splitlines()[-1]
        assert "**0.5×** (≤ 0.5)" in line
        assert "| 1× (≥ 3) |" in line

    def test_results_survive_being_kept(self, tmp_path: Path) -> None:
        results = Results(date="d", quick=True, machine={"cpu": "1"}, versions={"java": "5"}, rows=[row(java=[1.0])])
        save(results, tmp_path / "kept.json")
        assert load(tmp_path / "kept.json") == results
        results.put([row(java=[7.0])])
        assert [found.values for found in results.rows] == [{"java": [7.0]}]


class TestPages:
    def test_pages_are_made_between_their_markers(self, tmp_path: Path) -> None:
        for name in ("benchmarks.md", "capacity.md"):
            shutil.copy(DOCS / name, tmp_path / name)
        prose = _without_figures((tmp_path / "benchmarks.md").read_text())
        figures = dict.fromkeys(
            [
                "first_ms",
                "same_ms",
                "changed_ms",
                "lookups_per_s",
                "lookup_cpu_us",
                "lookup_p99_ms",
                "reply_kib",
                "memory_mib",
                "peak_mib",
                "body_mib",
                "disk_mib",
            ],
            2.0,
        )
        results = Results(
            date="2026-01-01",
            quick=False,
            machine={"cpu": "2"},
            versions={"routebook": "1"},
            rows=[
                Row("narrow-32", "look-ups", "/s", {"routebook": [5.0], "java": [1.0]}, failures={"rust": "it fell"})
            ],
            growth=[Point(100, 1_000, 32, figures), Point(300, 10_000, 32, figures)],
        )
        for _ in range(2):  # repeatedly
            report.write_pages(results, tmp_path)
        page = (tmp_path / "benchmarks.md").read_text()
        assert _without_figures(page) == prose
        assert "| look-ups (/s) | 5 | 1 | failed |" in page
        assert "it fell" in page
        assert "| 300 × 10,000 |" in (tmp_path / "capacity.md").read_text()
        for chart in (tmp_path / "benchmarks").glob("*.svg"):
            ElementTree.parse(chart)

    def test_charts_are_svg_whatever_the_names(self) -> None:
        ElementTree.fromstring(bar_chart([Bars("a < b", "µs", {"routebook": (1.0, 0.1)})]))
        ElementTree.fromstring(curve_chart("a & b", "x", "y", {"one": [(1, 10), (100, 0.1)], "none": []}))


@needs_gcc
@needs_linux
class TestLoad:
    def test_closed_loop_against_the_limit(self, tmp_path: Path) -> None:
        plan = plans.look_ups(tmp_path / "plan", plans.topic_names(3))
        with peers.limit(b"x" * 1000) as limit:
            found = native.run_load(limit.port, plan, connections=4, depth=8, seconds=0.2)
            assert limit.ask(105, {"topic": "any"}).body == b"x" * 1000
        assert found.measured == found.answered > 32
        assert found.bytes > 1000 * found.answered
        assert 0 < found.p50_us <= found.p99_us <= found.p999_us <= found.max_us

    def test_all_frames_of_a_plan_are_sent_in_turn(self, tmp_path: Path) -> None:
        asked: list[str | None] = []

        def answer(command: Command) -> Reply:
            asked.append(command.field("topic"))
            return Reply(body=b"{}")

        plan = plans.look_ups(tmp_path / "plan", ["a", "b", "c"])
        with answering(answer) as port:
            native.run_load(port, plan, connections=1, seconds=0.2)
        assert asked[:6] == ["a", "b", "c", "a", "b", "c"]

    def test_binary_and_signed_requests_and_expected_failures(self, tmp_path: Path) -> None:
        asked: list[Command] = []

        def answer(command: Command) -> Reply:
            asked.append(command)
            return Reply(code=17, remark="no such topic")

        credentials = plans.Credentials("key", "secret")
        for kind in SerializeType:
            asked.clear()
            plan = plans.look_ups(tmp_path / "plan", ["a"], serialize_type=kind, credentials=credentials)
            with answering(answer) as port:
                native.run_load(port, plan, connections=1, seconds=0.1, answer=17)
            assert asked[0].field("AccessKey") == "key"
            assert asked[0].field("Signature") == sign(b"keya", "secret")

    def test_failures_are_told(self, tmp_path: Path) -> None:
        plan = plans.look_ups(tmp_path / "plan", ["a"])
        with (
            answering(lambda _: Reply(code=17, remark="no such topic")) as port,
            pytest.raises(native.LoadError, match="were not answered as expected"),
        ):
            native.run_load(port, plan, connections=1, seconds=0.1)

    def test_a_stall_counts_for_every_request_that_was_due(self, tmp_path: Path) -> None:
        """One pause of 0.4 s at 100 requests/s: forty are late, not one."""
        pauses = iter([0.4])

        def answer(_: Command) -> Reply:
            time.sleep(next(pauses, 0.0))
            return Reply(body=b"{}")

        plan = plans.look_ups(tmp_path / "plan", ["a"])
        with answering(answer) as port:
            found = native.run_load(port, plan, connections=1, rate=100, seconds=1.0)
        assert found.answered == 100
        assert found.max_us >= 400_000
        assert found.mean_us >= 40 * 200_000 / 100

    def test_brokers_send_what_they_are_told(self, tmp_path: Path) -> None:
        names: list[str | None] = []
        bodies: list[bytes | None] = []

        def answer(command: Command) -> Reply:
            names.append(command.field("brokerName"))
            bodies.append(command.body)
            return Reply(ext={})

        first, second = plans.register_body(["a"]), plans.register_body(["a", "b"], counter=2)
        plan = plans.registrations(tmp_path / "plan", [first, second], [(0, 0), (1, 0), (0, 1), (1, 1)])
        with answering(answer) as port, native.Brokers(port, plan, connections=2) as brokers:
            assert brokers.send(0, 2).answered == 2
            assert brokers.send(3, 1).answered == 1
        assert names == ["broker-00000", "broker-00001", "broker-00001"]
        assert bodies == [first, first, second]


@contextmanager
def answering(answer: Callable[[Command], Reply]) -> Iterator[int]:
    """A server with a thread per connection, until its clients close."""
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        wire = Peer()
        with connection:
            while data := _received(connection):
                wire.feed(data)
                while (command := wire.next_command()) is not None:
                    try:
                        connection.sendall(encode_reply(command.opaque, answer(command)))
                    except OSError:
                        return

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threads.append(threading.Thread(target=serve, args=(connection,)))
            threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        accepting.join()
        listener.close()
        for thread in threads:
            thread.join()


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(1 << 16)
    except ConnectionError:
        return b""


def _without_figures(page: str) -> str:
    return re.sub(r"(<!-- (\w+): made by benchmarks/run.py -->).*?(<!-- end of \2 -->)", r"\1\3", page, flags=re.DOTALL)
