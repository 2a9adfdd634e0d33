"""The documentation builds as a site without a broken link, and every page is in the navigation."""

from pathlib import Path

import pytest

from tools import docs_site


@pytest.mark.slow
def test_the_site_builds_in_strict_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs_site, "SITE", tmp_path / "site")
    assert docs_site.main() == 0
    assert (tmp_path / "site" / "index.html").exists()
    assert (tmp_path / "site" / "search" / "search_index.json").stat().st_size > 10_000


def test_links_to_other_files_become_text_and_links_to_pages_stay() -> None:
    places = docs_site.stage_places()
    page = docs_site.DOCS / "testing.md"
    text = "[example](../examples/test_orders.py), [threats](../SECURITY.md#tls), [site](https://example.org/x)"
    assert docs_site.adjusted(text, page, places) == (
        "example, [threats](project/security.md#tls), [site](https://example.org/x)"
    )


def test_the_index_names_every_page() -> None:
    index = (docs_site.DOCS / "index.md").read_text()
    pages = {page.name for page in docs_site.DOCS.glob("*.md")} - {"index.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()
