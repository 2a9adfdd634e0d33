"""The console's static files: paths, headers, and nothing outside the folder."""

import gzip
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from routebook.console import ASSETS
from tests.support.process import serving

PAGES = (
    *("/", "/brokers", "/topics", "/controller", "/compare", "/events", "/reports", "/admin"),
    *("/brokers/broker-a", "/brokers/a%2Fb", "/topics/%25RETRY%25group", "/topics/%3Cscript%3E", "/topics/%E2%82%AC"),
)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("home"), http="127.0.0.1:0") as ns:
        yield ns.wait_until_http()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_path_returns_the_index(url: str, path: str) -> None:
    answer = httpx.get(url + path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.content == (ASSETS / "index.html").read_bytes()
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "path",
    [
        *("/broker", "/brokers/", "/brokers/a/b", "/topics/a/b"),
        *("/index.html", "/assets/", "/assets/index.html", "/favicon.ico"),
    ],
)
def test_other_paths_are_not_found(url: str, path: str) -> None:
    answer = httpx.get(url + path)
    assert answer.status_code == 404
    assert set(answer.json()) == {"error", "hint"}


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../../__init__.py",
        "/assets/..%2f..%2f__init__.py",
        "/assets/%2e%2e/__init__.py",
        "/assets//etc/passwd",
        "/assets/%2Fetc%2Fpasswd",
        "/assets/%00",
        "/assets/x%00.js",
    ],
)
def test_files_outside_the_folder_are_not_served(url: str, path: str) -> None:
    # by hand: clients tidy such paths up
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=10) as peer:
        peer.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: peer.recv(65536), b""))
    assert answer.split(b" ", 2)[1] == b"404", answer


def test_files_are_cacheable_and_compressed(url: str) -> None:
    for file in (path for path in ASSETS.rglob("*") if path.is_file() and path.name != "index.html"):
        name = file.relative_to(ASSETS).as_posix()
        answer = httpx.get(f"{url}/assets/{name}", headers={"accept-encoding": "gzip"})
        assert answer.status_code == 200
        assert answer.content == file.read_bytes()
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        plain = httpx.get(f"{url}/assets/{name}", headers={"accept-encoding": "identity"})
        assert plain.content == file.read_bytes()
        assert "content-encoding" not in plain.headers
        if file.suffix in (".js", ".css"):
            assert answer.headers["content-encoding"] == "gzip"
            assert answer.headers["etag"] != plain.headers["etag"]
            assert len(gzip.compress(file.read_bytes())) >= int(answer.headers["content-length"])


def test_unchanged_files_are_304(url: str) -> None:
    first = httpx.get(f"{url}/brokers")
    again = httpx.get(f"{url}/topics", headers={"if-none-match": f'"other", W/{first.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert httpx.get(f"{url}/", headers={"if-none-match": '"other"'}).status_code == 200


def test_head_and_other_methods(url: str) -> None:
    head = httpx.head(f"{url}/")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) > 0
    refused = httpx.post(f"{url}/brokers", content=b"x")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/", "/assets/none.js", "/v1/overview", "/schema", "/nowhere"])
def test_every_response_has_security_headers(url: str, path: str) -> None:
    headers = httpx.get(url + path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "base-uri 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert "camera=()" in headers["permissions-policy"]


def test_the_page_has_no_external_resources() -> None:
    page = (ASSETS / "index.html").read_text()
    assert "http://" not in page
    assert "https://" not in page
    assert "<style" not in page
    assert "style=" not in page
    for script in page.split("<script")[1:]:
        assert " src=" in script.partition(">")[0], "a script in the page itself"


def test_without_a_console_the_api_is_read_only(tmp_path: Path) -> None:
    with serving(tmp_path, http="127.0.0.1:0", settings={"routebook.console.enabled": False}) as ns:
        url = ns.wait_until_http()
        assert httpx.get(f"{url}/").status_code == 404
        assert httpx.get(f"{url}/v1/session").status_code == 404
        assert httpx.post(f"{url}/v1/admin/kv", json={}).status_code == 404
        assert httpx.get(f"{url}/v1/overview").status_code == 200
        upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
        assert httpx.get(f"{url}/v1/live", headers={**upgrade, "sec-websocket-key": "x" * 22 + "=="}).status_code == 404
