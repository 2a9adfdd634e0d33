"""`make demo` starts, prints the addresses, and stops all its processes on SIGINT."""

import re
import signal
import socket
import subprocess
import sys
from urllib.request import urlopen

import pytest

PATIENCE_S = 60


@pytest.mark.slow
def test_the_demo_starts_and_stops() -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "tools.demo", "--no-lake"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert demo.stdout is not None
        printed = ""
        while "Press ctrl-c to stop" not in printed:
            line = demo.stdout.readline()
            assert line, (printed, demo.communicate()[1])
            printed += line
        places = re.findall(r"NameServer \d  127\.0\.0\.1:(\d+)   (http://\S+)", printed)
        assert len(places) == 2
        for port, http in places:
            socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()
            with urlopen(f"{http}healthz", timeout=10) as answer:
                assert answer.status == 200
        demo.send_signal(signal.SIGINT)
        rest, errors = demo.communicate(timeout=PATIENCE_S)
    finally:
        demo.kill()
        demo.communicate()
    assert (demo.returncode, errors) == (0, "")
    assert "demo: " in rest
    for port, _ in places:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", int(port)), timeout=5)
