"""Seven tasks of an operator, each with one command or at most three clicks."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from routebook.model import Registration
from tests.support.chromium import TIMEOUT_MS
from tests.support.command_line import CommandResult, routebook
from tests.support.process import Process, serving
from tests.support.registered_brokers import broker, registered, topic

pytest.importorskip("pyiceberg", reason="needs the lake extra: pip install 'routebook[lake]'")

from tests.support.sample_lake import sample_lake

MAX_CLICKS: Final = 3


def command(*args: str) -> CommandResult:
    """Run one command on a thread: Playwright has an event loop on this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(routebook, *args).result()


class Clicks:
    """A page whose clicks are counted."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def click(self, target: Locator) -> None:
        self.count += 1
        assert self.count <= MAX_CLICKS
        target.click()


def with_own(name: str, *topics: str) -> Registration:
    """A broker of the cluster `orders` with these topics and its own."""
    return broker(name, *map(topic, (*topics, name)), cluster="orders")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Process]]:
    homes = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    sample_lake(homes[0] / "lake")
    with serving(homes[0], http="127.0.0.1:0") as first, serving(homes[1], http="127.0.0.1:0") as second:
        yield first, second


@pytest.fixture(scope="module")
def fleet(servers: tuple[Process, Process]) -> Iterator[None]:
    pair = [with_own(name, "shipments") for name in ("broker-a", "broker-b")]
    with registered(address_of(servers[0]), [*pair, with_own("broker-c", "billing", "unwanted")]):
        yield


@pytest.fixture
def clicks(browser: Browser, servers: tuple[Process, Process], fleet: None) -> Iterator[Clicks]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce", timezone_id="UTC")
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    page.goto(servers[0].wait_until_http())
    page.wait_for_selector("[data-live=live]")
    yield Clicks(page)
    context.close()


def address_of(server: Process) -> str:
    return f"{server.host}:{server.port}"


def document(ran: CommandResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(ran.out)
    return found


def test_why_there_was_no_route_at_a_time(servers: tuple[Process, Process], clicks: Clicks) -> None:
    url = servers[0].wait_until_http()
    with registered(address_of(servers[0]), [with_own("broker-x", "lost")]):
        assert command("why", "lost", "--http", url, "--json").code == 0
    servers[0].wait_for_log("broker down.*broker-x")
    ran = command("why", "lost", "--at", "0s ago", "--http", url, "--json")
    assert (ran.code, document(ran)["cause"]["kind"], document(ran)["cause"]["broker"]) == (1, "closed", "broker-x")

    page = clicks.page
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("lost")
    clicks.click(page.get_by_role("option", name="lost").first)
    why = page.get_by_test_id("why")
    expect(why).to_have_attribute("data-cause", "closed")
    expect(why).to_contain_text("broker-x")
    clicks.click(page.get_by_test_id("past-picker"))
    page.locator(".time-input").fill(time.strftime("%H:%M:%S", time.gmtime()))
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("why")).to_have_attribute("data-cause", "closed")


def test_the_broker_with_most_flaps_this_week(clicks: Clicks) -> None:
    page = clicks.page
    clicks.click(page.get_by_role("link", name="Reports", exact=True))
    clicks.click(page.get_by_role("link", name="Flaps"))
    clicks.click(page.get_by_role("button", name="7 days"))
    expect(page.locator("main tbody tr").first).to_contain_text("-b-")


def test_whether_the_nameservers_agree(servers: tuple[Process, Process], fleet: None) -> None:
    ran = command("diff", *map(address_of, servers), "--json")
    found = document(ran)
    assert (ran.code, found["agree"]) == (1, False)
    assert {"broker-a", "broker-b"} <= {one["subject"] for one in found["differences"]}


def test_who_deleted_a_topic(servers: tuple[Process, Process], fleet: None) -> None:
    assert command("topic", "delete", "unwanted", "-n", address_of(servers[0])).code == 0
    ran = command("why", "unwanted", "--http", servers[0].wait_until_http(), "--json")
    cause = document(ran)["cause"]
    assert (ran.code, cause["kind"]) == (1, "deleted")
    assert cause["peer"].startswith("127.0.0.1:")


def test_whether_a_restart_is_safe(servers: tuple[Process, Process], clicks: Clicks) -> None:
    url = servers[0].wait_until_http()
    ran = command("maintenance", "plan", "broker-a", "--http", url, "--json")
    assert (ran.code, document(ran)["safe"]) == (0, True)
    ran = command("maintenance", "plan", "broker-c", "--http", url, "--json")
    assert (ran.code, document(ran)["safe"]) == (1, False)
    assert "billing" in document(ran)["topics_without_broker"]

    page = clicks.page
    clicks.click(page.get_by_role("link", name="Brokers", exact=True))
    clicks.click(page.get_by_role("link", name="broker-c").first)
    expect(page.get_by_test_id("safe")).to_contain_text("not safe now")


def test_which_timeout_to_set(clicks: Clicks) -> None:
    page = clicks.page
    clicks.click(page.get_by_role("link", name="Reports", exact=True))
    clicks.click(page.get_by_role("link", name="Timeout advice"))
    advice = page.locator("main .note.ok").first
    expect(advice).to_contain_text("brokerNotActiveTimeoutMillis")
    expect(advice).to_contain_text("today 2 min")


def test_wipe_and_restore(servers: tuple[Process, Process], clicks: Clicks) -> None:
    where = address_of(servers[0])
    assert command("broker", "wipe", "broker-b", "-n", where).code == 0
    page = clicks.page
    clicks.click(page.get_by_role("link", name="Brokers", exact=True))
    row = page.locator('[data-key="broker-b#0"]')
    expect(row).to_contain_text("read-only")
    assert command("broker", "restore", "broker-b", "-n", where).code == 0
    expect(row).not_to_contain_text("read-only")


def test_the_topics_at_a_past_time(servers: tuple[Process, Process], clicks: Clicks) -> None:
    route = ("route", "short-lived", "-n", address_of(servers[0]))
    with registered(address_of(servers[0]), [with_own("broker-y", "short-lived")]):
        assert command(*route).code == 0
        at_ms = time.time_ns() // 1_000_000
        assert command(*route).code == 0  # a moment later
    page, url = clicks.page, servers[0].wait_until_http()
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while not httpx.get(f"{url}/v1/topics?at={at_ms}&q=short").json().get("topics"):  # the index follows the journal
        assert time.monotonic() < deadline
        time.sleep(0.1)
    page.goto(f"{url}/topics?at={at_ms}&q=short")
    expect(page.get_by_test_id("past")).to_be_visible()
    clicks.click(page.get_by_role("link", name="short-lived"))
    expect(page.get_by_test_id("route-sum")).to_contain_text("1 broker")
    page.go_back()
    clicks.click(page.get_by_role("button", name="Now"))
    expect(page.get_by_test_id("past")).to_have_count(0)
    expect(page.locator("main")).to_contain_text("No topic name contains “short”")


def test_total_loss_is_on_the_overview(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0") as server:
        page = browser.new_page()
        page.goto(server.wait_until_http())
        with registered(
            address_of(server), [with_own("broker-a", "shipments"), with_own("broker-b", "shipments", "billing")]
        ):
            expect(page.locator(".stat", has_text="Up").first).to_contain_text("2")
        expect(page.locator("main .note.bad").first).to_contain_text("All 2 brokers are down: 2 topics have no route.")
        page.goto(f"{server.wait_until_http()}/brokers/broker-b")
        expect(page.locator("main")).to_contain_text("What went down with it")
        expect(page.locator("main")).to_contain_text("billing")
        page.close()


@pytest.mark.parametrize(("path", "says"), [("/nothing/here", "no page"), ("/brokers/nobody", "has registered")])
def test_unknown_pages_have_a_next_step(clicks: Clicks, servers: tuple[Process, Process], path: str, says: str) -> None:
    page = clicks.page
    page.goto(servers[0].wait_until_http() + path)
    expect(page.locator("main")).to_contain_text(says)
    expect(page.locator("main .button.primary")).to_be_visible()


def test_times_are_shown_in_the_chosen_zone(browser: Browser, servers: tuple[Process, Process], fleet: None) -> None:
    context = browser.new_context(timezone_id="Asia/Tokyo")
    page = context.new_page()
    page.goto(f"{servers[0].wait_until_http()}/events")
    zone = page.get_by_test_id("zone")
    expect(zone).to_contain_text("UTC+09:00")
    first = page.locator("main [data-key] time").first
    local = first.inner_text()
    zone.click()
    expect(zone).to_have_text("UTC")
    expect(page.locator("main [data-key] time").first).not_to_have_text(local)
    context.close()
