"""The Spark manifests reference existing jobs, files and options."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sidecar.properties.loading import load
from sidecar.properties.model import Properties
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.compare.options import CompareOptions
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.dependency_versions import TESTED
from spark_jobs.reconcile.options import PurgeOptions, ReconcileOptions
from spark_jobs.tables.options import ExpireOptions, TablesJobOptions, TypedTableOptions
from spark_jobs.watermarks.options import WatermarkOptions

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = REPOSITORY / "k8s" / "spark"
EACH = pytest.mark.parametrize("name", sorted(each.stem for each in FOLDER.glob("[!k]*.yaml")))
MODELS: dict[str, type[Properties]] = {
    "changes/__main__.py": ChangesJobOptions,
    "compare/__main__.py": CompareOptions,
    "dedupe/__main__.py": DedupeJobOptions,
    "reconcile/__main__.py": ReconcileOptions,
    "reconcile/purge.py": PurgeOptions,
    "tables/__main__.py": TablesJobOptions,
    "tables/compact.py": TypedTableOptions,
    "tables/expire.py": ExpireOptions,
    "watermarks/__main__.py": WatermarkOptions,
}
_INSTALLED = "local:///opt/cdc/spark_jobs/"


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASSANDRA_PASSWORD", "secret")


def parts(name: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The files of the config map, the whole application, and its Spark specification."""
    config, application = yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text())
    spec = application["spec"]
    return config, application, spec.get("template", spec)


def options(name: str, folder: Path) -> Properties:
    """The options of the job; its files are written to `folder`."""
    config, _, spec = parts(name)
    main = spec["mainApplicationFile"].removeprefix(_INSTALLED)
    assert (REPOSITORY / "spark_jobs" / main).is_file()
    flag, path = spec["arguments"]
    assert flag == "--config"
    for file, text in config["data"].items():
        (folder / file).write_text(text)
    loaded = load(MODELS[main], [folder / Path(path).name])
    assert not loaded.warnings
    return loaded.properties


@EACH
def test_spark_job_accepts_options_of_manifest(name: str, tmp_path: Path) -> None:
    config, _, spec = parts(name)
    loaded = options(name, tmp_path)
    # The files are mounted to the folder in the options.
    folder = str(Path(spec["arguments"][1]).parent)
    for pod in (spec["driver"], spec["executor"]):
        assert {"name": "properties", "mountPath": folder} in pod["volumeMounts"]
    schema_file = getattr(loaded, "schema_file", None)
    if schema_file is not None:
        assert str(schema_file.parent) == folder
        assert schema_file.name in config["data"]


@EACH
def test_spark_application_references_resolve(name: str) -> None:
    config, application, spec = parts(name)
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


def test_every_spark_job_has_a_manifest() -> None:
    mains = {parts(name)[2]["mainApplicationFile"] for name in EACH.args[1]}
    assert {main.removeprefix(_INSTALLED) for main in mains} == set(MODELS)


def test_followers_read_store_of_reconcile(tmp_path: Path) -> None:
    jobs = [options(name, tmp_path) for name in ("reconcile", "tables", "changes")]
    found = [job for job in jobs if isinstance(job, ReconcileOptions)]
    assert [job.has_source for job in found] == [True, False, False]
    assert len({(job.output, job.buckets) for job in found}) == 1
    assert len({job.checkpoint for job in found}) == len(found)


@pytest.mark.parametrize("command", ["compact", "expire"])
def test_maintenance_job_has_format_and_target_of_the_tables_job(
    command: str, tmp_path: Path
) -> None:
    found = options(f"tables-{command}-scheduled", tmp_path)
    job = options("tables", tmp_path)
    assert isinstance(found, TypedTableOptions) and isinstance(job, TablesJobOptions)
    assert (found.format, found.target) == (job.format, job.target)


def test_compare_job_uses_store_tables_and_watermarks(tmp_path: Path) -> None:
    compare, tables, watermarks = (
        options(name, tmp_path) for name in ("compare-scheduled", "tables", "watermarks")
    )
    assert isinstance(compare, CompareOptions) and isinstance(watermarks, WatermarkOptions)
    assert isinstance(tables, TablesJobOptions)
    assert (compare.output, compare.buckets) == (tables.output, tables.buckets)
    assert (compare.format, compare.target) == (tables.format, tables.target)
    assert (watermarks.store, watermarks.state) == (compare.output, compare.watermarks)
