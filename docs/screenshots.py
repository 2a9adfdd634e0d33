"""Takes the pictures of the console that README and docs show: `python docs/screenshots.py [FOLDER]`.

A real server, a fleet with faults that runs faster than time, and Chromium; takes about two minutes.
"""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, ViewportSize, sync_playwright

CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
RUN_S: Final = 90
DESK: Final = ViewportSize(width=1280, height=800)
PHONE: Final = ViewportSize(width=390, height=844)
LISTENING: Final = re.compile(r"listening on (\S+) \((\w+)\)")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, serving(home) as places, fleet(places["nameserver"]):
        time.sleep(RUN_S)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
            url = f"http://{places['http']}"
            for name, path, theme, size in (
                ("overview", "/?hours=1", "light", DESK),
                ("overview-dark", "/?hours=1", "dark", DESK),
                ("brokers", "/brokers", "light", DESK),
                ("broker", first_of(browser, url, "/brokers"), "light", DESK),
                ("topic", first_of(browser, url, "/topics"), "light", DESK),
                ("events", "/events", "dark", DESK),
                ("phone", "/", "light", PHONE),
            ):
                take(browser, url + path, folder / f"console-{name}.png", theme, size)
            browser.close()


def take(browser: Browser, url: str, file: Path, theme: str, size: ViewportSize) -> None:
    context = browser.new_context(
        viewport=size,
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        timezone_id="UTC",
    )
    page = context.new_page()
    page.goto(url)
    page.wait_for_selector("[data-live=live]")
    page.wait_for_timeout(2000)  # long enough for all that a page shows to be there
    page.screenshot(path=str(file))
    context.close()


def first_of(browser: Browser, url: str, path: str) -> str:
    """The page of the first that a list names."""
    page = browser.new_page()
    page.goto(url + path)
    link = page.locator(f'main a[href^="{path}/"]').first
    link.wait_for()
    found = link.get_attribute("href")
    page.close()
    return found or path


@contextmanager
def serving(home: str) -> Iterator[dict[str, str]]:
    """Where a new server listens."""
    options = ("--home", home, "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    with running("serve", *options) as process:
        places: dict[str, str] = {}
        while len(places) < 2 and process.stdout is not None and (line := process.stdout.readline()):
            if found := LISTENING.search(line):
                places[found[2]] = found[1]
        yield places


@contextmanager
def fleet(nameserver: str) -> Iterator[None]:
    options = ("--scenario", "demo", "--nameserver", nameserver, "--duration", "1h", "--time-scale", "5")
    with running("fleet", "run", *options):
        yield


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "routebook", *arguments]
    process = subprocess.Popen(  # noqa: S603  our own command
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("images"))
