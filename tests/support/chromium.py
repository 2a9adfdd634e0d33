"""Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.support.missing_tools import require_tool

AXE: Final = Path(__file__).parents[2] / "console" / "node_modules" / "axe-core" / "axe.min.js"
_FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
TIMEOUT_MS: Final = 60_000  # generous: a busy machine is no failure
expect.set_options(timeout=TIMEOUT_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    require_tool("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(_FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class CheckedPage:
    """A page, and the errors of its console and network."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("console", lambda message: self._note(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("request", lambda request: self._outside(request.url))
        page.set_default_timeout(TIMEOUT_MS)

    def _note(self, text: str) -> None:
        self.errors.append(text)

    def _outside(self, url: str) -> None:
        if not url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:")):
            self.errors.append(f"asked for {url}")


def open_page(context: BrowserContext) -> CheckedPage:
    """Open a new tab."""
    return CheckedPage(context.new_page())
