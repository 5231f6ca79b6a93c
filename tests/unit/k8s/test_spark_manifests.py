"""The manifests name jobs, files and options that exist."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sidecar.properties.loading import load
from sidecar.properties.model import Properties
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.dependency_versions import TESTED
from spark_jobs.reconcile.options import PurgeOptions, ReconcileOptions

REPOSITORY = Path(__file__).resolve().parents[3]
MANIFESTS = sorted((REPOSITORY / "k8s" / "spark").glob("[!k]*.yaml"))
MODELS: dict[str, type[Properties]] = {
    "dedupe/__main__.py": DedupeJobOptions,
    "reconcile/__main__.py": ReconcileOptions,
    "reconcile/purge.py": PurgeOptions,
}
_INSTALLED = "local:///opt/cdc/spark_jobs/"


def parts(manifest: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Files of the config map, the whole application, what Spark is to run."""
    config, application = yaml.safe_load_all(manifest.read_text(encoding="utf-8"))
    spec = application["spec"]
    return config, application, spec.get("template", spec)


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: each.stem)
def test_job_accepts_its_options(manifest: Path, tmp_path: Path) -> None:
    config, _, spec = parts(manifest)
    main = spec["mainApplicationFile"].removeprefix(_INSTALLED)
    assert (REPOSITORY / "spark_jobs" / main).is_file()
    flag, path = spec["arguments"]
    assert flag == "--config"
    for name, text in config["data"].items():
        (tmp_path / name).write_text(text)
    loaded = load(MODELS[main], [tmp_path / Path(path).name])
    assert not loaded.warnings
    # The folder that the options name is the one that the files are mounted to.
    folder = str(Path(path).parent)
    for pod in (spec["driver"], spec["executor"]):
        assert {"name": "properties", "mountPath": folder} in pod["volumeMounts"]
    schema_file = getattr(loaded.properties, "schema_file", None)
    if schema_file is not None:
        assert str(schema_file.parent) == folder
        assert schema_file.name in config["data"]


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda each: each.stem)
def test_the_application_hangs_together(manifest: Path) -> None:
    config, application, spec = parts(manifest)
    assert application["apiVersion"] == "sparkoperator.k8s.io/v1beta2"
    is_scheduled = application["kind"] == "ScheduledSparkApplication"
    assert is_scheduled == ("schedule" in application["spec"])
    if is_scheduled:
        assert application["spec"]["concurrencyPolicy"] == "Forbid"
    assert (spec["restartPolicy"]["type"] == "Always") != is_scheduled
    assert spec["sparkVersion"] == TESTED.spark
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes["properties"]["configMap"]["name"] == config["metadata"]["name"]
    mounted = {mount["name"] for mount in spec["executor"]["volumeMounts"]}
    assert mounted == set(volumes)
    assert all(isinstance(value, str) for value in spec["sparkConf"].values())


def test_every_job_has_one() -> None:
    mains = {parts(manifest)[2]["mainApplicationFile"] for manifest in MANIFESTS}
    assert {main.removeprefix(_INSTALLED) for main in mains} == set(MODELS)
