"""While brokers announce changed topics, no callback of the event loop takes long, so look-ups are answered between."""

import json
import signal
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.attacks.announcement_storm import registered_storm, topic_names
from tests.attacks.look_up_prober import LookUpProber
from tests.support.process import serving
from tests.support.reliability_report import ReliabilityReport

BROKERS: Final = 20
TOPICS: Final = 10_000
CEILING_MS: Final = 20.0


@pytest.mark.slow
def test_no_callback_holds_the_event_loop(tmp_path: Path, reliability_report: ReliabilityReport) -> None:
    report = tmp_path / "callbacks.json"
    program = (sys.executable, "-m", "tests.support.measured_loop", str(report))
    with (
        serving(tmp_path / "home", program=program) as server,
        registered_storm(server.address, brokers=BROKERS, topics=TOPICS) as storm,
        LookUpProber(server.address, topic_names(50), rate=100) as prober,
    ):
        server.send(signal.SIGUSR1)
        storm.announce()
        prober.__exit__()
        assert prober.failures == []
        assert server.stop() == 0, server.log
    longest = json.loads(report.read_text())
    reliability_report.add(
        "holds", "announcements", brokers=BROKERS, topics=TOPICS, look_ups=len(prober.took_s), longest_ms=longest[0][0]
    )
    assert longest[0][0] < CEILING_MS, f"CPU milliseconds of the longest callbacks: {longest[:5]}"
