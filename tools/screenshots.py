"""Takes the screenshots of the console in README and docs: `python tools/screenshots.py [--only NAME…]`.

Runs `routebook demo`, waits for its first reports, and opens every page in Chromium: light, dark and on a phone. Takes
a few minutes, most of it for the lake. `--demo LOG` uses a demo that is already running; LOG is its output.
"""

import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import httpx
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from playwright.sync_api import TimeoutError as PlaywrightTimeout

CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DESK: Final = ViewportSize(width=1280, height=800)


class Form(NamedTuple):
    """How a page is shown, and the end of the file's name."""

    size: ViewportSize
    scale: float
    suffix: str


FORMS: Final = {
    "light": Form(DESK, 1.0, ""),
    "dark": Form(DESK, 0.5, "-dark"),  # small pictures: the repository contains them all
    "phone": Form(ViewportSize(width=390, height=844), 1.0, "-phone"),
}
PATIENCE_S: Final = 1800
T = TypeVar("T")
Act = Callable[[Page], None] | None


def main(folder: Path, log: Path, only: list[str]) -> None:
    text = wait_for(log.read_text, lambda text: "Press ctrl-c" in text)
    found = re.search(r"(http://\S+)/topics/(\S+)\?at=(\d+)", text)
    keys = re.search(r"access key (\S+), secret key (\S+)", text)
    if found is None or keys is None:
        raise SystemExit(f"{log}: not the output of routebook demo")
    with httpx.Client(base_url=found[1], auth=(keys[1], keys[2]), timeout=60) as ask, sync_playwright() as playwright:
        wait_for(lambda: ask.get("/v1/reports/availability"), lambda answer: answer.status_code == 200)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for name, path, act in pages(worst_broker(ask), found[2], found[3]):
            for form in FORMS:
                if not only or name in only or f"{name}-{form}" in only:
                    with opened(browser, ask, keys.groups(), form) as page:
                        take(page, str(ask.base_url) + path, folder / f"console-{name}{FORMS[form].suffix}.png", act)
        browser.close()


def pages(broker: str, topic: str, then_ms: str) -> tuple[tuple[str, str, Act], ...]:
    """Name, path and action of each page."""
    return (
        ("overview", "/?hours=24", None),
        ("brokers", "/brokers", None),
        ("broker", f"/brokers/{broker}", None),
        ("topics", "/topics?q=1", None),
        ("topic", f"/topics/{topic}?span=1d", None),
        ("topic-then", f"/topics/{topic}?span=1d&at={then_ms}", None),
        ("compare", "/compare", wait_for_difference),
        ("controller", "/controller", None),
        ("events", "/events", None),
        ("availability", "/reports?report=availability&days=7", None),
        ("outages", "/reports?report=outages&days=7", None),
        ("timeout", "/reports?report=tradeoff&days=7", None),
        ("admin", "/admin?tab=brokers", review_wipe),
    )


@contextlib.contextmanager
def opened(browser: Browser, ask: httpx.Client, keys: Sequence[str], form: str) -> Iterator[Page]:
    """A tab of a logged-in user."""
    context = browser.new_context(
        viewport=FORMS[form].size,
        color_scheme="dark" if form == "dark" else "light",
        device_scale_factor=FORMS[form].scale,
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
    )
    url = str(ask.base_url)
    body = {"access_key": keys[0], "secret_key": keys[1]}
    answer = context.request.post(f"{url}/v1/session", data=body, headers={"origin": url})
    if not answer.ok:
        raise RuntimeError(f"cannot log in: {answer.text()}")
    yield context.new_page()
    context.close()


def take(page: Page, url: str, file: Path, act: Act) -> None:
    page.goto(url, timeout=120_000)
    page.wait_for_selector("[data-live=live]", timeout=120_000)
    page.wait_for_selector("main .waiting", state="detached", timeout=120_000)
    page.wait_for_timeout(1500)  # let secondary requests of the page finish
    if act is not None:
        act(page)
    page.screenshot(path=str(file))


def wait_for_difference(page: Page) -> None:
    """Wait until the demo's network partition is seen; continue without after the timeout."""
    with contextlib.suppress(PlaywrightTimeout):
        page.locator("main .badge", has_text="diverged").first.wait_for(timeout=240_000)
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


def wait_for(ask: Callable[[], T], is_done: Callable[[T], bool]) -> T:
    deadline = time.monotonic() + PATIENCE_S
    while not is_done(found := ask()):
        if time.monotonic() > deadline:
            raise SystemExit("the demo did not get ready")
        time.sleep(2)
    return found


@contextlib.contextmanager
def demo() -> Iterator[Path]:
    """Run the demo; yield the file with its output."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, "-m", "routebook", "demo"], stdout=log)
        try:
            yield Path(log.name)
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--folder", type=Path, default=Path(__file__).parents[1] / "docs" / "images", help="output folder"
    )
    parser.add_argument("--demo", type=Path, metavar="LOG", help="output of a running demo")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="only these screenshots")
    options = parser.parse_args()
    with contextlib.nullcontext(options.demo) if options.demo else demo() as log:
        main(options.folder, log, options.only)
