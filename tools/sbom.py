"""Software bill of materials of the installed Routebook as CycloneDX JSON: `python tools/sbom.py [--extra lake]`.

It is generated from the metadata of the installed packages. It names packages by purl, without download locations; the
same installation gives the same bytes.
"""

import argparse
import json
import os
import sys
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = "routebook"
_NAMESPACE: Final = uuid.UUID("6f1d1f52-8f0e-5a57-9d0c-6c1b7f0f2f4e")


def installed(extras: Iterable[str]) -> dict[str, tuple[metadata.Distribution, set[str]]]:
    """Return Routebook and its dependencies by name, each with the names of its own dependencies."""
    found: dict[str, tuple[metadata.Distribution, set[str]]] = {}
    seen: set[tuple[str, str]] = set()
    pending = [(ROOT, extra) for extra in ("", *extras)]
    while pending:
        name, extra = pending.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        distribution = metadata.distribution(name)
        _, needs = found.setdefault(name, (distribution, set()))
        for text in distribution.requires or ():
            required = Requirement(text)
            if required.marker is None or required.marker.evaluate({"extra": extra}):
                other = canonicalize_name(required.name)
                needs.add(other)
                pending += [(other, wanted) for wanted in ("", *required.extras)]
    return found


def sbom(extras: Iterable[str] = (), *, at: datetime | None = None) -> dict[str, Any]:
    """Return the document. `at` is its timestamp; without it, the document has none."""
    found = installed(extras)
    components = {name: _component(name, distribution) for name, (distribution, _) in sorted(found.items())}
    root = {**components.pop(ROOT), "type": "application"}
    content = json.dumps([root, components], sort_keys=True)
    about: dict[str, Any] = {"component": root}
    if at is not None:
        about["timestamp"] = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, content)}",
        "version": 1,
        "metadata": about,
        "components": list(components.values()),
        "dependencies": [
            {"ref": _purl(name, distribution), "dependsOn": [_purl(other, found[other][0]) for other in sorted(needs)]}
            for name, (distribution, needs) in sorted(found.items())
        ],
    }


def _component(name: str, distribution: metadata.Distribution) -> dict[str, Any]:
    purl = _purl(name, distribution)
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": distribution.version,
        "purl": purl,
    }
    licence = _licence(distribution)
    if licence:
        component["licenses"] = [{"license": {"name": licence}}]
    return component


def _licence(distribution: metadata.Distribution) -> str | None:
    """Return the license from the metadata: an expression, one line, or a classifier; full texts are skipped."""
    about = distribution.metadata
    text = next((about[key] for key in ("License-Expression", "License") if key in about), "")
    if text and "\n" not in text and "://" not in text:
        return text
    classified = [line for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    return classified[0].rpartition(" :: ")[2] if classified else None


def _purl(name: str, distribution: metadata.Distribution) -> str:
    return f"pkg:pypi/{name}@{distribution.version}"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", action="append", default=[], help="include the dependencies of this extra (lake)")
    chosen = parser.parse_args(arguments)
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    at = datetime.fromtimestamp(int(epoch), UTC) if epoch else None
    json.dump(sbom(chosen.extra, at=at), sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1:])
