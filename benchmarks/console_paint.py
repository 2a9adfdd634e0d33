"""Measures the console in Chromium on loopback, at 300 brokers × 10,000 topics.

    python -m benchmarks.console_paint [--brokers 300] [--topics 10000] [--searched 50000] [--runs 7]

first paint      from the page request, nothing cached: to the first contentful paint, and to the frame with brokers
live update      CPU time of the main thread (scripts, styles, layout, paint) per message, while ten brokers leave and
                 return with all their topics; and each task longer than 50 ms of wall-clock time
search           from a keystroke to the result list on the screen, among all topics
Prints medians and maxima. Server, brokers and browser share the processor: wall-clock times include that load, CPU
times are those of the page alone.
"""

import argparse
import asyncio
import json
import statistics
from typing import Final

from playwright.async_api import Browser, CDPSession, ViewportSize, WebSocket, async_playwright

from benchmarks.suite.console_fleet import RunningServer, clients_of, register_all, run_server, send_heartbeats
from routebook.client.client import NameServerClient

CHROMIUM: Final = "/usr/bin/chromium"
FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DESK: Final = ViewportSize(width=1280, height=800)
LEAVING: Final = 10
SHOWN: Final = {"/": "main .map a", "/brokers": "main [role=row][data-key]"}
WHEN_SHOWN: Final = """
new MutationObserver((_, all) => {
  if (document.querySelector(SELECTOR) === null) return;
  all.disconnect();
  requestAnimationFrame(() => setTimeout(() => { document.documentElement.dataset.shown = performance.now(); }));
}).observe(document, {childList: true, subtree: true});
"""
LONG_TASKS: Final = """
() => {
  globalThis.longTasks = [];
  new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map((one) => one.duration)))
    .observe({type: "longtask"});
}
"""
# from the keystroke to the frame that shows the result for this text
TYPED: Final = """
(text) => new Promise((resolve) => {
  const field = document.querySelector('main input[type="search"]');
  const began = performance.now();
  const shows = () => {
    const row = document.querySelector("main [role=row][data-key]");
    const status = document.querySelector("main [role=status]")?.textContent ?? "";
    return row !== null && row.dataset.key.includes(text) && /match/.test(status);
  };
  const look = () => {
    if (shows()) requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
    else setTimeout(look, 1);
  };
  field.value = text;
  field.dispatchEvent(new Event("input", {bubbles: true}));
  look();
})
"""


async def main(brokers: int, topics: int, searched: int, runs: int) -> None:
    async with run_server() as server, async_playwright() as playwright:
        url = f"http://{server.http}"
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        clients = clients_of(server, brokers)
        await register_all(clients, topics=topics)
        heartbeats = asyncio.create_task(send_heartbeats(clients, first=LEAVING))
        print(f"{brokers} brokers × {topics} topics; medians of {runs} runs (and maximum), in ms", flush=True)
        await first_paint(browser, url, "/")  # warm-up: the server reads its files, Chromium starts
        for path in SHOWN:
            paints = [await first_paint(browser, url, path) for _ in range(runs)]
            print_times(f"{path}: first contentful paint", [first for first, _, _ in paints])
            print_times(f"{path}: brokers visible", [shown for _, shown, _ in paints])
            print_times(f"{path}: CPU time of the main thread until then", [busy for _, _, busy in paints])
        for path in SHOWN:
            mean, longest = await updates(browser, server, path, clients, topics, runs=runs)
            print_times(f"{path}: CPU time of the main thread per live message", mean)
            print(f"{path}: tasks over 50 ms: {[round(one) for one in longest] or 'none'}", flush=True)
        await register_all(clients[:1], topics=searched, version=2)
        print_times(f"search among {searched} topics", await search(browser, url, searched, runs=runs))
        heartbeats.cancel()
        await asyncio.gather(heartbeats, return_exceptions=True)
        await asyncio.gather(*(client.aclose() for client in clients))
        await browser.close()


def print_times(what: str, values: list[float]) -> None:
    print(f"{what}: {statistics.median(values):.1f} ({max(values):.1f})", flush=True)


async def first_paint(browser: Browser, url: str, path: str) -> tuple[float, float, float]:
    """Return the times of the first contentful paint and of the frame with brokers, and the CPU time until then."""
    context = await browser.new_context(viewport=DESK)
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await page.add_init_script(WHEN_SHOWN.replace("SELECTOR", json.dumps(SHOWN[path])))
    await page.goto(url + path)
    await page.wait_for_selector("html[data-shown]")
    busy = await busy_ms(session)
    first, shown = await page.evaluate(
        "() => [performance.getEntriesByName('first-contentful-paint')[0].startTime,"
        " Number(document.documentElement.dataset.shown)]"
    )
    await context.close()
    return first, shown, busy


async def updates(
    browser: Browser, server: RunningServer, path: str, clients: list[NameServerClient], topics: int, *, runs: int
) -> tuple[list[float], list[float]]:
    """Return the mean CPU time per message of each run, and all tasks longer than 50 ms."""
    context = await browser.new_context(viewport=DESK)
    page = await context.new_page()
    messages: list[int] = []

    def on_socket(socket: WebSocket) -> None:
        socket.on("framereceived", lambda _: messages.append(1))

    page.on("websocket", on_socket)
    session = await context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await page.goto(f"http://{server.http}{path}")
    await page.wait_for_selector("[data-live=live]")
    await page.wait_for_timeout(3000)
    await page.evaluate(LONG_TASKS)
    mean: list[float] = []
    for _ in range(runs):
        messages.clear()
        before_ms = await busy_ms(session)
        await asyncio.gather(*(client.aclose() for client in clients[:LEAVING]))
        await page.wait_for_timeout(1500)
        clients[:LEAVING] = clients_of(server, LEAVING)
        await register_all(clients[:LEAVING], topics=topics)
        await page.wait_for_timeout(1500)
        mean.append((await busy_ms(session) - before_ms) / len(messages))
    longest: list[float] = await page.evaluate("globalThis.longTasks")
    await context.close()
    return mean, longest


async def busy_ms(session: CDPSession) -> float:
    answer = await session.send("Performance.getMetrics")
    return next(float(one["value"]) for one in answer["metrics"] if one["name"] == "TaskDuration") * 1000


async def search(browser: Browser, url: str, topics: int, *, runs: int) -> list[float]:
    page = await browser.new_page(viewport=DESK)
    await page.goto(f"{url}/topics")
    await page.wait_for_selector("main [role=row][data-key]")
    numbers = [f"{(run + 1) * topics // (runs + 1):05}" for run in range(runs)]
    found = [
        float(await page.evaluate(TYPED, f"-{number[:length]}")) for number in numbers for length in (3, 4, 5)
    ]  # one result per keystroke
    await page.close()
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--searched", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    asyncio.run(main(given.brokers, given.topics, given.searched, given.runs))
