"""The Helm chart renders with each group of values; skipped without `helm` (deploy/README.md)."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "routebook"
HELM = shutil.which("helm")
pytestmark = pytest.mark.skipif(HELM is None, reason="needs helm, not found")
KINDS = ["ConfigMap", "PodDisruptionBudget", "Service", "Service", "StatefulSet"]


def helm(*arguments: str) -> str:
    ran = subprocess.run([str(HELM), *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def rendered(*values: str) -> dict[str, Any]:
    """The rendered objects by kind and name."""
    options = [option for value in values for option in ("--set", value)]
    text = helm("template", "ns", str(CHART), "--kube-version", "1.31.0", *options)
    objects = [msgspec.yaml.decode(part) for part in text.split("\n---\n")]
    return {f"{one['kind']} {one['metadata']['name']}": one for one in objects}


def test_the_linter_finds_nothing() -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHART))


@pytest.mark.parametrize(
    ("values", "more"),
    [
        ((), ["NetworkPolicy"]),
        (("networkPolicy.enabled=false", "persistence.storageClass=fast"), []),
        (
            ("serviceMonitor.enabled=true", "identitiesSecret=ids", "peersSecret=peers"),
            ["NetworkPolicy", "ServiceMonitor"],
        ),
    ],
)
def test_it_renders_the_objects_that_the_values_ask_for(values: tuple[str, ...], more: list[str]) -> None:
    found = rendered(*values)
    assert sorted(name.split()[0] for name in found) == sorted([*KINDS, *more])
    pod = found["StatefulSet ns"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_each_nameserver_has_an_address_for_its_peers() -> None:
    container = rendered("replicas=3")["StatefulSet ns"]["spec"]["template"]["spec"]["containers"][0]
    (addresses,) = [one["value"] for one in container["env"] if one["name"] == "NAMESERVERS"]
    assert [address.partition(".")[0] for address in addresses.split(",")] == ["ns-0", "ns-1", "ns-2"]
