"""The Controller page in a real browser: leader, sets, elections on the time line; elect and clean with a preview."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from tests.console.test_console_admin import DESK, log_in
from tests.console.test_console_browser import check_accessible
from tests.support.chromium import open_page
from tests.support.identities import ADMIN, BROKER, write_identities
from tests.support.process import Process, serving
from tests.support.remoting import Client
from tests.support.remoting_frames import Request
from tests.support.signing import signed

NAMES: Final = ("orders-a", "orders-b", "orders-c")  # tests that change a set use the second or the third
LOST_MASTER: Final = ("orders-a", "orders-c")
PORTS: Final = dict(zip(NAMES, (10911, 10921, 10931), strict=True))


class Replica:
    """A broker in controller mode with a connection of its own."""

    def __init__(self, stack: ExitStack, address: tuple[str, int], name: str, number: int) -> None:
        self.client = stack.enter_context(Client(address))
        self.name, self.number = name, str(number)
        addr = f"10.0.0.{number}:{PORTS[name]}"
        self.ask(1013, appliedBrokerId=self.number, registerCheckCode=f"{addr};1")
        self.ask(904, brokerId=self.number, epoch="1", maxOffset="4096", heartbeatTimeoutMills="3600000")

    def ask(self, code: int, body: bytes | None = None, **fields: str) -> None:
        ext = {"clusterName": "orders", "brokerName": self.name, **fields}
        reply = self.client.ask(signed(Request(code=code, ext=ext, body=body or b""), *BROKER))
        assert reply.code == 0, reply


@pytest.fixture(scope="module")
def controller() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory, controller: int) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("controller")
    settings = {
        "routebook.auth.file": write_identities(folder),
        "routebook.journal.commitMillis": 0,
        "enableControllerInNamesrv": True,
        "controllerDLegerGroup": "group1",
        "controllerDLegerPeers": f"n0-127.0.0.1:{controller}",
        "controllerDLegerSelfId": "n0",
    }
    with serving(folder / "home", http="127.0.0.1:0", settings=settings) as process:
        process.wait_for_out(r"\(controller\)")
        process.wait_until_http()
        yield process


@pytest.fixture(scope="module")
def brokers(ns: Process, controller: int) -> Iterator[None]:
    """Three sets of two replicas; two of them have failed over to replica 2."""
    with ExitStack() as stack:
        address = ("127.0.0.1", controller)
        for name in NAMES:
            pair = [Replica(stack, address, name, number) for number in (1, 2)]
            pair[0].ask(1002, brokerId="1")
            body = json.dumps({"syncStateSet": [1, 2], "syncStateSetEpoch": 1}).encode()
            pair[0].ask(1001, body, masterBrokerId="1", masterEpoch="1")
            if name in LOST_MASTER:
                pair[0].client.close()
        with httpx.Client(base_url=ns.wait_until_http(), auth=ADMIN) as program:
            ns.wait_for_log("master elected.*cause=closed")
            while len(program.get("/v1/controller/elections").json()["elections"]) < 5:
                pass
        yield


@pytest.fixture
def page(browser: Browser, ns: Process, brokers: None) -> Iterator[Page]:
    context: BrowserContext = browser.new_context(viewport=DESK, reduced_motion="reduce")
    opened = log_in(context, ns, ADMIN)
    opened.goto(f"{ns.wait_until_http()}/controller")
    yield opened
    context.close()


def row(page: Page, name: str) -> Locator:
    return page.locator(f'tr[data-key="{name}"]')


def test_the_page_shows_leader_sets_and_elections(page: Page) -> None:
    expect(page.locator(".stats")).to_contain_text("this node")
    lost = row(page, "orders-a")
    expect(lost.locator('li[data-replica="1"]')).to_contain_text("not alive")
    expect(lost.locator('li[data-replica="1"]')).to_contain_text("out of sync")
    expect(lost.locator('li[data-replica="2"]')).to_contain_text("master")
    expect(row(page, "orders-b").locator('li[data-replica="2"]')).to_contain_text("in sync")
    expect(page.get_by_role("region", name="Elections")).to_contain_text("connection of the master closed")
    expect(page.get_by_role("img", name="Masters of 3 sets")).to_be_visible()
    check_accessible(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_in_both_themes(browser: Browser, ns: Process, brokers: None, theme: str, tmp_path: Path) -> None:
    context = browser.new_context(
        viewport=DESK, color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce"
    )
    try:
        page = log_in(context, ns, ADMIN)
        page.goto(f"{ns.wait_until_http()}/controller")
        expect(row(page, "orders-b")).to_be_visible()
        page.screenshot(path=str(tmp_path / f"controller-{theme}.png"), full_page=True)
        check_accessible(page)
    finally:
        context.close()


def test_a_past_time_is_a_link(page: Page) -> None:
    first = page.locator("tr[data-seq]").filter(has_text="orders-a").filter(has_text="first election")
    first.get_by_role("button").click()
    expect(page.get_by_role("heading", name="Broker sets at a past time")).to_be_visible()
    expect(row(page, "orders-a").locator('li[data-replica="1"]')).to_contain_text("master")
    assert "at=" in page.url
    page.get_by_role("button", name="Now", exact=True).click()
    expect(page.get_by_role("heading", name="Broker sets", exact=True)).to_be_visible()


def test_elect_and_clean_are_previewed_applied_and_recorded(page: Page) -> None:
    page.get_by_role("button", name="Make master: replica 2 of orders-b").click()
    confirm = page.get_by_test_id("confirm")
    expect(confirm).to_contain_text("1 at 10.0.0.1:10921")
    expect(confirm).to_contain_text("2 at 10.0.0.2:10921")
    check_accessible(page)
    page.get_by_test_id("do-it").click()
    expect(confirm).to_contain_text("Applied and recorded")
    page.get_by_role("button", name="Close").click()
    expect(row(page, "orders-b").locator('li[data-replica="2"]')).to_contain_text("master")
    expect(page.get_by_role("region", name="Elections")).to_contain_text("chosen by an operator")
    page.get_by_role("button", name="Clean: replica 1 of orders-c").click()
    expect(confirm).to_contain_text("replica 1")
    page.get_by_test_id("do-it").click()
    expect(confirm).to_contain_text("Applied and recorded")
    page.get_by_role("button", name="Close").click()
    expect(row(page, "orders-c").locator("li")).to_have_count(1)


def test_without_a_login_there_are_no_actions(browser: Browser, ns: Process, brokers: None) -> None:
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")
    try:
        page = open_page(context).page
        page.goto(f"{ns.wait_until_http()}/controller")
        expect(row(page, "orders-b")).to_be_visible()
        assert page.get_by_role("button", name="Make master: replica 1 of orders-b").count() == 0
    finally:
        context.close()
