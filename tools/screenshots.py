"""Takes the screenshots of the console in README and docs: `python tools/screenshots.py [--only NAME…]`.

Simulates eight days of a fleet, builds the lake from them, starts two servers with these journals and a live fleet with
accelerated faults, then opens the pages in Chromium. Takes about ten minutes, most of it for the lake; `--keep DIR`
reuses the simulated days and the lake.
"""

import argparse
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DAYS: Final = 8
RUN_S: Final = 150
SIZE: Final = ("--brokers", "24", "--topics", "120", "--clients", "12", "--seed", "3")
HOUR_MS: Final = 3_600_000
DESK: Final = ViewportSize(width=1280, height=800)
PHONE: Final = ViewportSize(width=390, height=844)
LISTENING: Final = re.compile(r"listening on (\S+) \((\w+)\)")
OPERATOR: Final = ("operator", "only for pictures")
IDENTITIES: Final = """
anonymous = ["route_read"]

[[identity]]
name = "operator"
secret = "only for pictures"
access = ["admin_write", "broker_control"]
"""


def main(folder: Path, keep: Path, only: list[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    simulate_days(keep)
    with servers(keep) as (first, second), fleet(f"{first['nameserver']};{second['nameserver']}"):
        time.sleep(RUN_S)
        with sync_playwright() as playwright, httpx.Client(base_url=f"http://{first['http']}", auth=OPERATOR) as ask:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            take_all(browser, ask, folder, only)
            browser.close()


def take_all(browser: Browser, ask: httpx.Client, folder: Path, only: list[str]) -> None:
    broker, topic, then_ms = worst_broker(ask), *moved_topic(ask)
    for name, path, theme, size, act in (
        ("overview", "/?hours=24", "light", DESK, None),
        ("overview-dark", "/?hours=24", "dark", DESK, None),
        ("brokers", "/brokers", "light", DESK, None),
        ("broker", f"/brokers/{broker}", "light", DESK, None),
        ("topics", "/topics?q=1", "dark", DESK, None),
        ("topic", f"/topics/{topic}?span=1d", "light", DESK, None),
        ("topic-then", f"/topics/{topic}?span=1d&at={then_ms}", "dark", DESK, None),
        ("compare", "/compare", "light", DESK, wait_for_difference),
        ("events", "/events", "dark", DESK, None),
        ("availability", "/reports?report=availability&days=7", "light", DESK, None),
        ("outages", "/reports?report=outages&days=7", "dark", DESK, None),
        ("timeout", "/reports?report=tradeoff&days=7", "light", DESK, None),
        ("admin", "/admin?tab=brokers", "light", DESK, review_wipe),
        ("phone", "/", "light", PHONE, None),
        ("phone-topic", f"/topics/{topic}", "dark", PHONE, None),
    ):
        if not only or name in only:
            with context(browser, ask, theme, size) as tab:
                take(tab, str(ask.base_url) + path, folder / f"console-{name}.png", act)


def take(tab: BrowserContext, url: str, file: Path, act: Callable[[Page], None] | None) -> None:
    page = tab.new_page()
    page.goto(url)
    page.wait_for_selector("[data-live=live]")
    page.wait_for_selector("main .waiting", state="detached", timeout=120_000)
    page.wait_for_timeout(1500)  # let secondary requests of the page finish
    if act is not None:
        act(page)
    page.screenshot(path=str(file))


@contextmanager
def context(browser: Browser, ask: httpx.Client, theme: str, size: ViewportSize) -> Iterator[BrowserContext]:
    """A new browser context with a logged-in user."""
    tab = browser.new_context(
        viewport=size,
        color_scheme="dark" if theme == "dark" else "light",
        device_scale_factor=2 if size == PHONE else 1,
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
    )
    url = str(ask.base_url)
    body = {"access_key": OPERATOR[0], "secret_key": OPERATOR[1]}
    answer = tab.request.post(f"{url}/v1/session", data=body, headers={"origin": url})
    if not answer.ok:
        raise RuntimeError(f"cannot log in: {answer.text()}")
    yield tab
    tab.close()


def wait_for_difference(page: Page) -> None:
    """Wait until the scenario partitions a broker from the second NameServer; continue without after the timeout."""
    with contextlib.suppress(PlaywrightTimeout):
        page.locator("main .badge", has_text=re.compile("settling|diverged")).first.wait_for(timeout=200_000)
        page.locator("main table a").first.click()
    page.wait_for_timeout(1500)


def review_wipe(page: Page) -> None:
    page.get_by_role("button", name="Wipe…").first.click()
    page.get_by_test_id("do-it").wait_for()
    page.wait_for_timeout(500)


def worst_broker(ask: httpx.Client) -> str:
    """The broker with the most outages."""
    outages: dict[str, int] = {}
    for group in ask.get("/v1/brokers").json()["groups"]:
        members = ask.get(f"/v1/brokers/{group['name']}/sessions", params={"days": 7}).json()["members"]
        outages[group["name"]] = sum(day["outages"] for member in members for day in member["days"])
    return max(outages, key=lambda name: outages[name])


def moved_topic(ask: httpx.Client) -> tuple[str, int]:
    """The topic with the most route changes in the last day, and a time between two of them."""
    end_ms = int(time.time() * 1000) - HOUR_MS
    changes: dict[str, list[int]] = {}
    for topic in ask.get("/v1/topics", params={"limit": 500, "q": "topic-"}).json()["topics"]:
        if 1 < topic["brokers"] < 6:
            answer = ask.get(f"/v1/routes/{topic['name']}/history", params={"limit": 100}).json()
            times = [version["valid_from_ms"] for version in answer["versions"]]
            changes[topic["name"]] = sorted(ms for ms in times if end_ms - 22 * HOUR_MS < ms < end_ms)
    name = max(changes, key=lambda name: len(changes[name]))
    return name, changes[name][len(changes[name]) // 2] + 1000


def simulate_days(keep: Path) -> None:
    """Create two homes with simulated journals up to now, and the lake of both in the first."""
    if (keep / "ns-1").exists():
        return
    begin = (datetime.now(UTC) - timedelta(days=DAYS)).strftime("%Y-%m-%dT%H:%M")
    simulated = keep / "simulated"
    run("fleet", "simulate", "--out", str(simulated), "--days", str(DAYS), "--nameservers", "2", "--from", begin, *SIZE)
    for name in ("ns-1", "ns-2"):
        shutil.copytree(simulated / name, keep / name / "journal")
    journals = [option for name in ("ns-1", "ns-2") for option in ("--journal", str(simulated / name))]
    run("lake", "build", *journals, "--lake", str(keep / "ns-1" / "lake"))


@contextmanager
def servers(keep: Path) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """Start two servers; the first has the second as a peer. Yields their addresses."""
    file = keep / "identities.toml"
    file.write_text(IDENTITIES)
    file.chmod(0o600)
    with serving(keep / "ns-2", file) as second:
        peers = {
            "routebook.peers": f"{second['nameserver']}/{second['http'].rpartition(':')[2]}",
            "routebook.peers.accessKey": OPERATOR[0],
            "routebook.peers.secretKey": OPERATOR[1],
            "routebook.peers.intervalSeconds": "5",
            "routebook.peers.divergedSeconds": "15",
        }
        with serving(keep / "ns-1", file, **peers) as first:
            yield first, second


@contextmanager
def serving(home: Path, identities: Path, **settings: str) -> Iterator[dict[str, str]]:
    """Start a server with this home. Yields its addresses by port name."""
    settings["routebook.auth.file"] = str(identities)
    options = ("--home", str(home), "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    with running("serve", *options, *(f"-D{key}={value}" for key, value in settings.items())) as process:
        addresses: dict[str, str] = {}
        while len(addresses) < 2 and process.stdout is not None and (line := process.stdout.readline()):
            if found := LISTENING.search(line):
                addresses[found[2]] = found[1]
        yield addresses


@contextmanager
def fleet(nameservers: str) -> Iterator[None]:
    """Run the simulated fleet live."""
    who = ("--access-key", OPERATOR[0], "--secret-key", OPERATOR[1])
    faster = ("--duration", "2h", "--time-scale", "5")
    with running("fleet", "run", "--scenario", "demo", "--nameserver", nameservers, *faster, *SIZE, *who):
        yield


def run(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "routebook", *arguments], check=True)


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "routebook", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parents[1] / "docs" / "images", help="output folder"
    )
    parser.add_argument("--keep", type=Path, help="folder of the simulated days and the lake")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="only these screenshots")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(options.folder, options.keep or Path(temporary), options.only)
