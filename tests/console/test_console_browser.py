"""The console in a real browser, with a real server and a simulated fleet: every page and the main workflows.

Screenshots are kept in the folder that `--screenshots` names, if it names one.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, ViewportSize, expect

from routebook.lake.status import State, Status, write_status
from tests.support.chromium import AXE, CheckedPage, open_page
from tests.support.identities import ADMIN, write_identities
from tests.support.missing_tools import require_tool
from tests.support.process import Process, serving
from tests.support.remoting import Client, register, route

NASTY: Final = "<script>alert(1)</script>"
PAGES: Final = {
    "overview": "/",
    "brokers": "/brokers",
    "broker": "/brokers/story-a",
    "topics": "/topics",
    "topic": "/topics/story",
    "controller": "/controller",
    "compare": "/compare",
    "events": "/events",
    "reports": "/reports",
    "admin": "/admin",
}
LIVE: Final = "[data-live=live], [data-live=restarted]"
PHONE: Final = ViewportSize(width=390, height=844)
DESK: Final = ViewportSize(width=1280, height=800)
# a report that is not there yet, and peers that are not configured, are answers; the browser logs them all the same
EXPECTED: Final = re.compile(r"Failed to load resource.*(404|503)")


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    settings = {"serverChannelMaxIdleTimeSeconds": 0}  # our own brokers do not beat
    with serving(tmp_path_factory.mktemp("home"), http="127.0.0.1:0", settings=settings) as process:
        process.wait_until_http()
        yield process


@pytest.fixture(scope="module")
def fleet(ns: Process) -> Iterator[Process]:
    """A fleet of brokers and clients without faults."""
    where = f"{ns.host}:{ns.port}"
    process = Process(
        *("fleet", "run", "--scenario", "quiet-day", "--nameserver", where),
        *("--brokers", "8", "--topics", "60", "--clients", "4", "--duration", "1h", "--time-scale", "10"),
    )
    try:
        yield process
    finally:
        process.kill()


@pytest.fixture(scope="module")
def story(ns: Process, fleet: Process) -> Iterator[Client]:
    """A broker with its own topic, and one whose name is HTML."""
    with Client(ns.address) as broker:
        come(broker, "story-a", "10.9.0.1:10911", "story", NASTY)
        broker.ask(route("no-such-topic"))
        yield broker


@pytest.fixture
def context(browser: Browser, story: Client) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport=DESK, color_scheme="light", reduced_motion="reduce")
    yield found
    found.close()


@pytest.fixture
def shots(request: pytest.FixtureRequest) -> Path | None:
    folder: str | None = request.config.getoption("--screenshots")
    return None if folder is None else Path(folder)


@pytest.fixture
def url(ns: Process) -> str:
    return ns.wait_until_http()


def come(client: Client, broker: str, addr: str, *topics: str) -> None:
    """Register a broker with a long heartbeat timeout."""
    frame = register(broker=broker, addr=addr, cluster="story", topics=topics, timeout_ms=3_600_000)
    assert client.ask(frame).code == 0


def open_at(watched: CheckedPage, url: str, name: str, path: str | None = None) -> Page:
    """Open a page and wait until it is live."""
    page = watched.page
    page.goto(url + (path or PAGES[name]))
    page.wait_for_selector(f'main[data-page="{name}"]')
    page.wait_for_selector(LIVE)
    return page


def complaints(watched: CheckedPage) -> list[str]:
    return [text for text in watched.errors if not EXPECTED.search(text)]


def keep(page: Page, shots: Path | None, name: str) -> None:
    if shots is not None:
        shots.mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(400)  # what is asked for on the side has come by then; nothing depends on it
        page.screenshot(path=str(shots / f"{name}.png"))


def check_accessible(page: Page) -> None:
    require_tool("axe", path=AXE)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.evaluate("async () => (await axe.run()).violations")
    serious = [
        (one["id"], one["help"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_each_page_in_both_themes(
    browser: Browser, story: Client, url: str, shots: Path | None, name: str, theme: str
) -> None:
    context = browser.new_context(
        viewport=DESK, color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce"
    )
    try:
        watched = open_page(context)
        page = open_at(watched, url, name)
        expect(page.locator("h1").first).to_be_visible()
        page.wait_for_timeout(700)  # so that what a page asks for on the side may complain, too
        keep(page, shots, f"{name}-{theme}")
        check_accessible(page)
        assert complaints(watched) == []
    finally:
        context.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_each_page_on_a_phone(browser: Browser, story: Client, url: str, shots: Path | None, name: str) -> None:
    context = browser.new_context(viewport=PHONE, is_mobile=True, has_touch=True, reduced_motion="reduce")
    try:
        watched = open_page(context)
        page = open_at(watched, url, name)
        page.wait_for_timeout(500)
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, f"{wider} px wider than the screen"
        keep(page, shots, f"{name}-phone")
        check_accessible(page)
        assert complaints(watched) == []
    finally:
        context.close()


def test_a_broker_that_stops_appears_on_the_overview_without_reload(
    context: BrowserContext, ns: Process, url: str
) -> None:
    watched = open_page(context)
    with Client(ns.address) as broker:
        come(broker, "dies", "10.9.0.9:10911", "dying", "dead")
        page = open_at(watched, url, "overview")
        down = page.locator('a[href="/brokers?state=down"]').first
        expect(down).to_contain_text(re.compile(r"\d"))
        before = int(re.findall(r"\d+", down.inner_text())[0])  # left by earlier tests
    expect(down).to_contain_text(re.compile(rf"(?<!\d){before + 1}(?!\d)"))
    alarm = page.locator("main").get_by_role("link", name="dies", exact=True).first
    expect(alarm).to_be_visible()
    assert complaints(watched) == []


def test_a_past_route_is_shown_and_shared(context: BrowserContext, ns: Process, url: str) -> None:
    topic = "moves"
    watched = open_page(context)
    with Client(ns.address) as first, Client(ns.address) as second:
        come(first, "moves-a", "10.9.1.1:10911", topic, "other")
        time.sleep(1.2)
        then_ms = int(time.time() * 1000)
        time.sleep(1.2)
        come(second, "moves-b", "10.9.1.2:10911", topic, "other")
        page = open_at(watched, url, "topic", f"/topics/{topic}")
        expect(page.get_by_test_id("route-sum")).to_contain_text("2 brokers")
        slider = page.locator('input[type="range"]').first
        slider.evaluate(
            "(input, at) => { input.value = String(at);"
            " input.dispatchEvent(new Event('input', {bubbles: true}));"
            " input.dispatchEvent(new Event('change', {bubbles: true})); }",
            then_ms,
        )
        expect(page.get_by_test_id("route-sum")).to_contain_text("1 broker,")
        expect(page).to_have_url(re.compile(r"[?&]at="))
        shared = page.url
        other = open_page(context).page
        other.goto(shared)
        expect(other.get_by_test_id("route-sum")).to_contain_text("1 broker,")
        expect(other.get_by_test_id("route").locator('[data-key="moves-a"]')).to_be_visible()
    assert complaints(watched) == []


def test_a_shared_url_shows_the_same_view(context: BrowserContext, url: str) -> None:
    watched = open_page(context)
    page = open_at(watched, url, "brokers")
    page.get_by_label("Filter brokers").fill("story-a")
    expect(page).to_have_url(re.compile(r"q=story-a"))
    expect(page.locator('[data-key^="story-a#"]').first).to_be_visible()
    expect(page.locator("[role=row][data-key]")).to_have_count(1)
    other = open_page(context)
    other.page.goto(page.url)
    expect(other.page.locator("[role=row][data-key]")).to_have_count(1)
    expect(other.page.get_by_label("Filter brokers")).to_have_value("story-a")


def test_names_are_never_interpreted_as_html(context: BrowserContext, url: str) -> None:
    watched = open_page(context)
    said: list[str] = []

    def on_dialog(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    watched.page.on("dialog", on_dialog)
    page = open_at(watched, url, "topic", f"/topics/{quote(NASTY, safe='')}")
    expect(page.locator("h1")).to_have_text(NASTY)
    expect(page.get_by_test_id("route-sum")).to_contain_text("1 broker")
    open_at(watched, url, "topics", f"/topics?q={quote('<script>')}")
    expect(page.locator("main")).to_contain_text(NASTY)
    open_at(watched, url, "broker")
    expect(page.locator("main")).to_contain_text(NASTY)
    open_at(watched, url, "events")
    page.wait_for_timeout(500)
    assert said == []
    assert complaints(watched) == []


def test_the_theme_is_stored(context: BrowserContext, url: str) -> None:
    watched = open_page(context)
    page = open_at(watched, url, "overview")
    seen = set()
    for _ in range(3):
        page.get_by_test_id("theme").click()
        seen.add(page.evaluate("document.documentElement.dataset.theme ?? 'auto'"))
    assert seen == {"auto", "light", "dark"}
    while page.evaluate("document.documentElement.dataset.theme") != "dark":
        page.get_by_test_id("theme").click()
    page.reload()
    page.wait_for_selector(LIVE)
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_everything_is_reachable_by_keyboard(context: BrowserContext, url: str) -> None:
    page = open_at(open_page(context), url, "overview")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement?.getAttribute('href') ?? ''"))
    assert {"/brokers", "/topics", "/compare", "/events", "/reports", "/admin"} <= reached


def test_without_a_lake_the_page_shows_the_build_command(context: BrowserContext, url: str) -> None:
    page = open_at(open_page(context), url, "reports")
    expect(page.get_by_test_id("lake-command")).to_contain_text("routebook lake build")


@pytest.mark.slow
def test_the_first_lake_build_is_shown(browser: Browser, tmp_path: Path, shots: Path | None) -> None:
    pytest.importorskip("pyiceberg", reason="needs the lake extra: pip install 'routebook[lake]'")
    from tests.support.sample_lake import sample_lake

    def at_work(says: str) -> None:
        write_status(tmp_path / "lake", Status(state=State.BUILDING, at_ms=1, says=says))

    context = browser.new_context(viewport=DESK)
    try:
        with serving(tmp_path, http="127.0.0.1:0") as ns:
            at_work("ingest: 3 of 12 segments")
            page = open_at(open_page(context), ns.wait_until_http(), "reports")
            expect(page.get_by_test_id("lake-progress")).to_have_text("Ingest: 3 of 12 segments.")
            keep(page, shots, "first-lake")
            at_work("tables: 1 of 12 tables")
            expect(page.get_by_test_id("lake-progress")).to_have_text("Tables: 1 of 12 tables.")
            sample_lake(tmp_path / "lake")
            expect(page.locator("table.calendar")).to_be_visible()
    finally:
        context.close()


def test_without_authentication_the_page_shows_how_to_enable_it(context: BrowserContext, url: str) -> None:
    page = open_at(open_page(context), url, "admin")
    expect(page.locator("main")).to_contain_text("routebook.auth.file")


@pytest.mark.slow
def test_a_restart_is_shown_and_survived(browser: Browser, tmp_path: Path, shots: Path | None) -> None:
    context = browser.new_context(viewport=DESK)
    try:
        with serving(tmp_path, http="127.0.0.1:0") as ns, Client(ns.address) as broker:
            come(broker, "stays", "10.9.2.1:10911", "t", "u")
            url, place = ns.wait_until_http(), f"{ns.host}:{ns.port}"
            page = open_at(open_page(context), url, "brokers")
            expect(page.locator('[data-key="stays#0"]')).to_be_visible()
            assert ns.stop() == 0
            expect(page.locator(LIVE)).to_have_count(0)
            keep(page, shots, "restarting")
        with serving(tmp_path, listen=place, http=url.removeprefix("http://")):
            page.wait_for_selector("[data-live=restarted]")
            expect(page.locator('[data-key="stays#0"] [data-state="recovered"]')).to_be_visible()
            keep(page, shots, "restarted")
    finally:
        context.close()


def test_an_administrator_logs_in_previews_and_applies(browser: Browser, tmp_path: Path, shots: Path | None) -> None:
    settings = {"routebook.auth.file": write_identities(tmp_path)}
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    try:
        with serving(tmp_path / "home", http="127.0.0.1:0", settings=settings) as ns:
            url = ns.wait_until_http()
            watched = open_page(context)
            page = watched.page
            page.goto(f"{url}/admin")
            page.wait_for_selector('main[data-page="admin"]')
            form = page.locator("form.login").first
            form.get_by_label("Access key").fill(ADMIN[0])
            form.get_by_label("Secret key").fill("not the secret")
            form.get_by_role("button", name="Log in").click()
            expect(form).to_contain_text("wrong secret")
            form.get_by_label("Secret key").fill(ADMIN[1])
            form.get_by_role("button", name="Log in").click()
            page.get_by_label("Key", exact=True).fill("orders")
            page.get_by_label("Value", exact=True).fill("broker-a:4")
            page.get_by_role("button", name="Review…").first.click()
            confirm = page.get_by_test_id("confirm")
            expect(confirm).to_contain_text("KV ORDER_TOPIC_CONFIG / orders")
            keep(page, shots, "admin-confirm")
            check_accessible(page)
            with httpx.Client(base_url=url, auth=ADMIN) as program:
                assert program.get("/v1/kv").json() == {"namespaces": {}}, "looking changes nothing"
                page.get_by_test_id("do-it").click()
                expect(confirm).to_contain_text("recorded")
                assert program.get("/v1/kv").json() == {"namespaces": {"ORDER_TOPIC_CONFIG": {"orders": "broker-a:4"}}}
                (record,) = program.get("/v1/records", params={"kind": "kv_changed"}).json()["records"]
                assert record["who"] == "root"
            assert not [text for text in watched.errors if "401" not in text]
    finally:
        context.close()
