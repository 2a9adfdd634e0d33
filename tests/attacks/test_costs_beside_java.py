"""The cost of each request code beside the Java NameServer; with `--attack-seconds 60` or more."""

from pathlib import Path

import pytest

from tests.attacks import ceilings, hostile_input
from tests.attacks.announcement_storm import topic_names
from tests.attacks.server_cost import cpu_ns, send_frames
from tests.support.java import java_nameserver_process
from tests.support.process import serving
from tests.support.reliability_report import ReliabilityReport
from tests.support.remoting import Client

TOPICS = 20_000
TIMES = 20
WARM_UP = 100  # the JVM compiles what is called often
LONG_S = 60.0


@pytest.mark.java
@pytest.mark.slow
def test_costs_beside_java(tmp_path: Path, pytestconfig: pytest.Config, reliability_report: ReliabilityReport) -> None:
    if pytestconfig.getoption("--attack-seconds") < LONG_S:
        pytest.skip(f"part of the long form: --attack-seconds {LONG_S:g}")
    registration = hostile_input.registration(ceilings.LARGE, topic_names(TOPICS))
    with (
        serving(tmp_path / "routebook") as ours,
        java_nameserver_process(tmp_path / "java") as (java, address),
        Client(ours.address) as one,
        Client(address) as other,
    ):
        assert [client.ask(registration).code for client in (one, other)] == [0, 0]
        for code in ceilings.CODES:
            data = ceilings.requests_of(code)["usual"].encode()
            send_frames(address, data * WARM_UP, WARM_UP)
            spent = {}
            for name, pid, target in (("routebook", ours.pid, ours.address), ("java", java.process.pid, address)):
                began_ns = cpu_ns(pid)
                send_frames(target, data * TIMES, TIMES)
                spent[name] = round((cpu_ns(pid) - began_ns) / 1e6 / TIMES, 3)
            reliability_report.add("beside java", str(code), routebook_ms=spent["routebook"], java_ms=spent["java"])
