"""`routebook fleet run` as a process."""

import json
import signal
from pathlib import Path

from tests.support.process import Process, serving
from tests.support.remoting import eventually
from tests.support.remoting_frames import Link, Request

OPTIONS = ("--brokers", "3", "--topics", "4", "--clients", "2", "--time-scale", "20")


def brokers(link: Link) -> int:
    return link.ask(Request(code=106)).body.count(b'"brokerName"')


def test_ctrl_c_unregisters_all_brokers(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as server, Link(server.address) as link:
        address = "{}:{}".format(*server.address)
        fleet = Process("fleet", "run", "-n", address, "--duration", "1h", *OPTIONS)
        try:
            eventually(lambda: brokers(link) >= 2, "the fleet is there")
            fleet.send(signal.SIGINT)
            assert fleet.wait() == 0
        finally:
            fleet.kill()
        assert brokers(link) == 0
        assert "quiet-day: " in fleet.out
        assert fleet.log == ""


def test_the_report_as_json(tmp_path: Path) -> None:
    with serving(tmp_path / "home") as server:
        address = "{}:{}".format(*server.address)
        where = str(tmp_path / "report.json")
        options = ("--duration", "20s", "--json", "--out", where, "--seed", "4")
        fleet = Process("fleet", "run", "-s", "rolling-restart", "-n", address, *options, *OPTIONS)
        try:
            assert fleet.wait() == 0, fleet.log
        finally:
            fleet.kill()
    report = json.loads(fleet.out)
    assert (report["brokers"], report["seed"], report["nameservers"]) == (3, 4, [address])
    assert report["requests"]["103"] >= 3
    assert json.loads(Path(where).read_text()) == report


def test_no_reachable_nameserver(tmp_path: Path) -> None:
    fleet = Process("fleet", "run", "-n", "127.0.0.1:1", "--duration", "1s")
    try:
        assert fleet.wait() == 3
    finally:
        fleet.kill()
    assert fleet.log.count("\n") == 1
    assert "127.0.0.1:1" in fleet.log
