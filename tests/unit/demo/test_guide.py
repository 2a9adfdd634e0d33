"""The printed guide: links for the console, the past and the reports, and addresses that can be connected to."""

import asyncio
from pathlib import Path

from routebook.demo.guide import guide
from routebook.demo.past import Moment
from routebook.demo.run import Demo, Ports
from routebook.fleet.scenario import load_scenario

PORTS = (
    Ports(nameserver="0.0.0.0:9876", http="0.0.0.0:8876"),
    Ports(nameserver="0.0.0.0:9877", http="0.0.0.0:8877"),
)
MOMENT = Moment(topic="orders/eu", broker="broker-001", at_ms=1_794_944_800_000)


def test_it_names_addresses_login_and_links(tmp_path: Path) -> None:
    lines, secret = asyncio.run(_lines(tmp_path, with_lake=True))
    text = "\n".join(lines)
    assert "http://127.0.0.1:8876/topics/orders%2Feu?at=1794944800000" in text
    assert secret in text
    assert "0.0.0.0" not in text
    assert f"--lake {tmp_path}/ns-1/lake" in text


def test_without_the_lake_it_names_the_extra(tmp_path: Path) -> None:
    lines, _ = asyncio.run(_lines(tmp_path, with_lake=False))
    assert any("routebook[lake]" in line for line in lines)


async def _lines(folder: Path, *, with_lake: bool) -> tuple[list[str], str]:
    demo = Demo(folder, load_scenario("demo"), PORTS, with_lake=with_lake)
    return list(guide(demo, MOMENT, with_lake=with_lake)), demo.secret
