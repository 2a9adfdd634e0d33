"""Builds the documentation as a site with search: `make docs` writes build/site.

MkDocs reads one folder, but some pages (README, ARCHITECTURE, deploy) are where people look for them in a checkout. So
the pages are copied into build/docs first, and links are adjusted: a page keeps its link, any other file of the
repository becomes plain text. MkDocs runs in strict mode: a broken link or anchor fails the build.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
STAGE: Final = ROOT / "build" / "docs"
SITE: Final = ROOT / "build" / "site"
PROJECT_PAGES: Final = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "deploy/README.md",
)
LINK: Final = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#\s]+)(#[^)]*)?\)")


def main() -> int:
    """Stage the pages and run MkDocs; return its exit code."""
    places = stage_places()
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(DOCS, STAGE, ignore=shutil.ignore_patterns("*.md"))
    for source, target in places.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(adjusted(source.read_text(encoding="utf-8"), source, places), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(SITE)]
    environment = {**os.environ, "DISABLE_MKDOCS_2_WARNING": "true", "NO_MKDOCS_2_WARNING": "true"}
    return subprocess.run(
        [*command, "--config-file", str(ROOT / "mkdocs.yml")], check=False, env=environment
    ).returncode


def stage_places() -> dict[Path, Path]:
    """Each page of the repository with its place in the staged folder."""
    places = {page: STAGE / page.relative_to(DOCS) for page in DOCS.rglob("*.md")}
    for name in PROJECT_PAGES:
        flat = "deployment.md" if name.startswith("deploy") else name.lower()
        places[ROOT / name] = STAGE / "project" / flat
    return places


def adjusted(text: str, source: Path, places: dict[Path, Path]) -> str:
    """The text of a page with links that work in the staged folder."""

    def replace(link: re.Match[str]) -> str:
        label, target, anchor = link[1], link[2], link[3] or ""
        if "://" in target:
            return link[0]
        file = (source.parent / target).resolve()
        if file in places:
            return f"[{label}]({os.path.relpath(places[file], places[source].parent)}{anchor})"
        if file.is_relative_to(DOCS):
            return link[0]
        return label

    text = LINK.sub(replace, text)
    if not source.is_relative_to(DOCS):
        text = text.replace("](docs/images/", "](../images/")
    return text


if __name__ == "__main__":
    sys.exit(main())
