"""What the demo prints when it runs: where to look, how to log in, which commands to try."""

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from routebook.demo.past import DAYS, Moment
from routebook.demo.run import OPERATOR, Demo


def guide(demo: Demo, moment: Moment | None, *, with_lake: bool) -> Iterator[str]:
    """Lines for a terminal; every link and command works while the demo runs."""
    first, second = demo.ports
    console = f"http://{_reachable(first.http)}"
    program = routebook_command()
    yield ""
    yield f"Routebook demo: two NameServers, {DAYS} days of simulated past, a live fleet with faults."
    yield ""
    yield f"  console       {console}/        and {f'http://{_reachable(second.http)}'}/"
    yield f"  log in        access key {OPERATOR}, secret key {demo.secret}   (for events, reports and changes)"
    yield f"  in a shell    export ROCKETMQ_ACCESS_KEY={OPERATOR} ROCKETMQ_SECRET_KEY={demo.secret}"
    yield f"  NameServers   {_reachable(first.nameserver)};{_reachable(second.nameserver)}"
    yield ""
    yield "What to look at:"
    if moment is not None:
        at = datetime.fromtimestamp(moment.at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        yield f"  the past      {console}/topics/{quote(moment.topic, safe='')}?at={moment.at_ms}"
        yield f"                {moment.topic} while {moment.broker} was down"
        yield f"                {program} why {moment.topic} --at {at} --http {console}"
    yield f"  divergence    {console}/compare"
    yield "                within a minute a network partition hides brokers from the second NameServer"
    yield f"                {program} diff {_reachable(first.nameserver)} {_reachable(second.nameserver)}"
    if with_lake:
        yield f"  reports       {console}/reports"
        yield "                the first lake build takes a minute or two; the page shows its progress"
        yield f"                {program} lake report --lake {demo.lake}"
    else:
        yield "  reports       need the lake: install Routebook with its extra, routebook[lake]"
    yield f"  change        {console}/admin?tab=brokers"
    yield "                wipe the write permission of a broker, and restore it"
    yield f"  events        {program} watch --http {console}"
    yield ""
    yield "Press ctrl-c to stop."
    yield ""


def routebook_command() -> str:
    """How to call this installation: `routebook` if that is the one on the PATH, else its path."""
    own = Path(sys.executable).with_name("routebook")
    found = shutil.which("routebook")
    if found is not None and Path(found).resolve() == own.resolve():
        return "routebook"
    if not own.exists():
        return f"{sys.executable} -m routebook"
    relative = os.path.relpath(own)
    return relative if len(relative) < len(str(own)) else str(own)


def _reachable(address: str) -> str:
    """An address to connect to: a listener on all interfaces is reached over loopback."""
    host, _, port = address.rpartition(":")
    return f"127.0.0.1:{port}" if host in {"0.0.0.0", "[::]", ""} else address  # noqa: S104 - compared, not bound
