"""The tests' own Kustomize produces the same objects as kubectl."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.kubernetes.kustomize import Object, build, finished

REPOSITORY = Path(__file__).resolve().parents[4]
KUSTOMIZATIONS = sorted(
    path.parent
    for path in (REPOSITORY / "k8s").rglob("kustomization.yaml")
    if "components" not in path.parts
)


def in_order(objects: list[Object]) -> list[str]:
    return sorted(json.dumps(each, sort_keys=True) for each in objects)


@pytest.mark.parametrize("directory", KUSTOMIZATIONS, ids=lambda each: each.name)
def test_built_in_kustomize_agrees_with_kubectl(directory: Path) -> None:
    objects = finished(build(directory))
    assert objects
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    told = subprocess.run(
        [kubectl, "kustomize", str(directory)], capture_output=True, check=True, text=True
    )
    assert in_order(objects) == in_order(list(yaml.safe_load_all(told.stdout)))
