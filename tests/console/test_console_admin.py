"""The admin page in a real browser: actions are previewed, applied and recorded; other identities are rejected.

A fleet that signs its requests runs beside; what is changed belongs to a broker of the tests' own.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from tests.support.chromium import open_page
from tests.support.identities import ADMIN, BROKER, LIMITED, READER, write_identities
from tests.support.process import Process, serving
from tests.support.remoting import Client, register
from tests.support.signing import signed

DESK: Final = ViewportSize(width=1280, height=800)
TOPICS: Final = ("orders", "payments")
# what a page of the console sends, by hand: past all that the page itself would not offer
WRITE: Final = """
async ({method, path, body, csrf}) => {
  const headers = {"content-type": "application/json", ...(csrf === null ? {} : {"x-routebook-csrf": csrf})};
  const answer = await fetch(path, {method, headers, body: body === null ? undefined : JSON.stringify(body)});
  return [answer.status, (await answer.json()).code ?? null];
}
"""
CSRF: Final = "async () => (await (await fetch('/v1/session')).json()).csrf"


@pytest.fixture(scope="module")
def ns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("admin")
    settings = {
        "routebook.auth.file": write_identities(folder),
        "routebook.journal.commitMillis": 0,
        "serverChannelMaxIdleTimeSeconds": 0,  # our own broker does not beat
    }
    with serving(folder / "home", http="127.0.0.1:0", settings=settings) as process:
        process.wait_until_http()
        yield process


@pytest.fixture(scope="module")
def fleet(ns: Process) -> Iterator[Process]:
    process = Process(
        *("fleet", "run", "--scenario", "quiet-day", "--nameserver", f"{ns.host}:{ns.port}"),
        *("--brokers", "4", "--topics", "20", "--clients", "2", "--duration", "1h"),
        *("--access-key", BROKER[0], "--secret-key", BROKER[1]),
    )
    try:
        yield process
    finally:
        process.kill()


@pytest.fixture
def broker(ns: Process, fleet: Process) -> Iterator[Client]:
    """A broker that is registered during the test."""
    frame = register(broker="ours", addr="10.9.0.1:10911", cluster="story", topics=TOPICS, timeout_ms=3_600_000)
    with Client(ns.address) as client:
        assert client.ask(signed(frame, *BROKER)).code == 0
        yield client


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    found = browser.new_context(viewport=DESK, reduced_motion="reduce")
    yield found
    found.close()


@pytest.fixture
def program(ns: Process) -> Iterator[httpx.Client]:
    """An HTTP client beside the browser."""
    with httpx.Client(base_url=ns.wait_until_http(), auth=ADMIN) as client:
        yield client


def log_in(context: BrowserContext, ns: Process, who: tuple[str, str]) -> Page:
    page = open_page(context).page
    page.goto(f"{ns.wait_until_http()}/admin")
    form = page.locator("form.login").first
    form.get_by_label("Access key").fill(who[0])
    form.get_by_label("Secret key").fill(who[1])
    form.get_by_role("button", name="Log in").click()
    expect(page.locator("main")).to_contain_text(f"logged in as {who[0]}")
    return page


def writable(program: httpx.Client, topic: str) -> bool:
    (queue,) = program.get(f"/v1/routes/{topic}").json()["route"]["queues"]
    return bool(queue["writable"])


def newest(program: httpx.Client) -> dict[str, Any]:
    """The newest record of an admin action."""
    kinds = ("permission_wiped", "permission_restored", "topic_deleted", "kv_changed", "setting_changed")
    record: dict[str, Any] = program.get("/v1/records", params={"kind": kinds, "limit": 1}).json()["records"][0]
    return record


def confirm_change(page: Page) -> None:
    confirm = page.get_by_test_id("confirm")
    page.get_by_test_id("do-it").click()
    expect(confirm).to_contain_text("Applied and recorded")


def open_record(page: Page, says: str) -> None:
    """The dialog links to the event of the change."""
    page.get_by_test_id("confirm").get_by_role("link", name=re.compile(r"record \d+")).click()
    page.wait_for_selector('main[data-page="events"]')
    row = page.locator("main [data-key]").first
    expect(row).to_contain_text(f"{says} by {ADMIN[0]}")


def test_write_permission_is_wiped_and_restored(
    context: BrowserContext, ns: Process, broker: Client, program: httpx.Client
) -> None:
    page = log_in(context, ns, ADMIN)
    page.get_by_role("button", name="Write permission").click()
    row = page.locator('[data-key="ours"]')
    confirm = page.get_by_test_id("confirm")
    row.get_by_role("button", name="Wipe…").click()
    for topic in TOPICS:
        expect(confirm.locator("tr", has_text=f"topic {topic}")).to_contain_text(
            re.compile(r"read and write \(6\).*read \(4\)")
        )
    expect(confirm).to_contain_text("2 changes")
    assert writable(program, "orders"), "the preview changes nothing"
    confirm_change(page)
    assert [writable(program, topic) for topic in TOPICS] == [False, False]
    record = newest(program)
    assert (record["kind"], record["broker"], record["who"]) == ("permission_wiped", "ours", "root")
    confirm.get_by_role("button", name="Close").click()

    row.get_by_role("button", name="Restore…").click()
    expect(confirm.locator("tr", has_text="topic orders")).to_contain_text(
        re.compile(r"read \(4\).*read and write \(6\)")
    )
    assert not writable(program, "orders"), "the preview changes nothing"
    confirm_change(page)
    assert [writable(program, topic) for topic in TOPICS] == [True, True]
    record = newest(program)
    assert (record["kind"], record["broker"], record["who"]) == ("permission_restored", "ours", "root")
    open_record(page, "ours write permission restored (2 topics)")


def test_nothing_to_change_cannot_be_confirmed(context: BrowserContext, ns: Process, broker: Client) -> None:
    page = log_in(context, ns, ADMIN)
    page.get_by_role("button", name="Write permission").click()
    page.locator('[data-key="ours"]').get_by_role("button", name="Restore…").click()
    expect(page.get_by_test_id("confirm")).to_contain_text("No changes")
    expect(page.get_by_test_id("do-it")).to_be_disabled()


def test_a_topic_is_deleted(context: BrowserContext, ns: Process, broker: Client, program: httpx.Client) -> None:
    page = log_in(context, ns, ADMIN)
    page.get_by_role("button", name="Delete topic").click()
    page.get_by_label("Topic", exact=True).fill("payments")
    page.get_by_role("button", name="Review…").click()
    confirm = page.get_by_test_id("confirm")
    expect(confirm.locator("tr", has_text="topic payments on ours")).to_contain_text("4 read queues, 4 write queues")
    expect(confirm).to_contain_text("adds it again")
    assert program.get("/v1/routes/payments").status_code == 200, "the preview changes nothing"
    confirm_change(page)
    assert program.get("/v1/routes/payments").status_code == 404
    assert program.get("/v1/routes/orders").status_code == 200
    record = newest(program)
    assert (record["kind"], record["topic"], record["who"]) == ("topic_deleted", "payments", "root")
    open_record(page, "payments deleted")


def test_a_reader_cannot_make_changes(
    context: BrowserContext, ns: Process, broker: Client, program: httpx.Client
) -> None:
    page = log_in(context, ns, READER)
    expect(page.locator("main")).to_contain_text("reader is not an admin")
    for button in ("Review…", "Wipe…", "Restore…"):
        expect(page.get_by_role("button", name=button)).to_have_count(0)
    before = program.get("/v1/server").json()["last_seq"]
    csrf = page.evaluate(CSRF)
    assert csrf, "it is logged in: what stops it is what it may, not that it is nobody"
    for method, path, body in (
        ("POST", "/v1/admin/brokers/ours/wipe-write", {"dry_run": False}),
        ("POST", "/v1/admin/brokers/ours/restore-write", {"dry_run": False}),
        ("DELETE", "/v1/admin/topics/orders?dry_run=false", None),
        ("POST", "/v1/admin/kv", {"namespace": "n", "key": "k", "value": "v", "dry_run": False}),
        ("DELETE", "/v1/admin/kv/n/k?dry_run=false", None),
        ("POST", "/v1/admin/settings", {"values": {"orderMessageEnable": "true"}, "dry_run": False}),
    ):
        status, code = page.evaluate(WRITE, {"method": method, "path": path, "body": body, "csrf": csrf})
        assert (status, code) == (403, "not-allowed"), path
    assert all(writable(program, topic) for topic in TOPICS)
    assert program.get("/v1/kv").json() == {"namespaces": {}}
    kinds = {record["kind"] for record in program.get("/v1/records", params={"after": before}).json()["records"]}
    assert "request_denied" in kinds
    assert not kinds & {"permission_wiped", "permission_restored", "topic_deleted", "kv_changed", "setting_changed"}


def test_an_administrator_of_one_cluster_is_denied_in_another(
    context: BrowserContext, ns: Process, broker: Client, program: httpx.Client
) -> None:
    page = log_in(context, ns, LIMITED)
    page.get_by_role("button", name="Write permission").click()
    page.locator('[data-key="ours"]').get_by_role("button", name="Wipe…").click()
    expect(page.get_by_test_id("confirm").get_by_role("alert")).to_contain_text("may not change cluster story")
    expect(page.get_by_test_id("do-it")).to_be_disabled()
    assert writable(program, "orders")


def test_requests_without_token_or_from_another_site_are_rejected(
    context: BrowserContext, ns: Process, broker: Client, program: httpx.Client
) -> None:
    page = log_in(context, ns, ADMIN)
    url = ns.wait_until_http()
    wipe = {"method": "POST", "path": "/v1/admin/brokers/ours/wipe-write", "body": {"dry_run": False}}
    for csrf in (None, "guessed"):
        assert page.evaluate(WRITE, {**wipe, "csrf": csrf}) == [403, "csrf"]
    trap = (  # a form needs nobody's leave to send; its one field makes a body that reads as JSON
        f'<form method="post" enctype="text/plain" action="{url}{wipe["path"]}">'
        """<input name='{"dry_run": false, "x": "' value='"}'></form>"""
    )
    other = context.new_page()  # the same browser, with the administrator's cookie
    other.route("http://evil.example/", lambda route: route.fulfill(content_type="text/html", body=trap))
    other.goto("http://evil.example/")
    with other.expect_response(f"{url}{wipe['path']}") as answered:
        other.evaluate("document.forms[0].submit()")
    assert answered.value.status in (401, 403)
    assert all(writable(program, topic) for topic in TOPICS)
    assert page.evaluate(WRITE, {**wipe, "csrf": page.evaluate(CSRF)}) == [200, None], "its own page can"
