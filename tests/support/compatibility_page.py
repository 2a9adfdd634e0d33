"""The entries of docs/compatibility.md: tests accept only documented differences from Java."""

import re
from pathlib import Path
from typing import Final

COMPATIBILITY: Final = Path(__file__).parents[2] / "docs" / "compatibility.md"


def documented_anchors() -> frozenset[str]:
    """Every anchor of the page: explicit ones (`<a id="…">`) and those derived from headings."""
    text = COMPATIBILITY.read_text()
    explicit = re.findall(r'<a id="([^"]+)">', text)
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return frozenset(explicit) | {_slug(heading) for heading in headings}


def _slug(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")
