"""The folder of jars."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from spark_jobs.dependency_versions import TESTED, DependencyVersions, versions_for
from spark_jobs.errors import SetupError
from spark_jobs.jars import jars_in, main


def test_missing_jar_error_contains_remedy(tmp_path: Path) -> None:
    for artifact in TESTED.artifacts()[1:]:
        (tmp_path / artifact.file_name).touch()
    with pytest.raises(SetupError) as raised:
        jars_in(tmp_path)
    assert TESTED.artifacts()[0].file_name in str(raised.value)
    assert f"python -m spark_jobs.jars --spark {TESTED.spark} {tmp_path}" in str(raised.value)


def test_single_jar_of_another_release_is_accepted(tmp_path: Path) -> None:
    for artifact in replace(TESTED, kafka_clients="3.9.1").artifacts():
        (tmp_path / artifact.file_name).touch()
    assert tmp_path / "kafka-clients-3.9.1.jar" in jars_in(tmp_path)
    (tmp_path / "kafka-clients-3.9.0.jar").touch()
    with pytest.raises(SetupError, match=r"has no kafka-clients-3\.9\.2\.jar\."):
        jars_in(tmp_path)


def test_avro_and_iceberg_jars_are_optional(tmp_path: Path) -> None:
    for artifact in TESTED.required_artifacts():
        (tmp_path / artifact.file_name).touch()
    required = jars_in(tmp_path)
    optional = [tmp_path / artifact.file_name for artifact in TESTED.optional_artifacts()]
    assert not set(optional) & set(required)
    for path in optional:
        path.touch()
    assert jars_in(tmp_path) == [*required, *optional]


def test_only_iceberg_can_be_excluded(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--iceberg", "none", "--delta", "none", str(tmp_path)])
    assert "Invalid value for '--delta': `none` is not a release." in result.output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], TESTED),
        (["--spark", "4.2.0"], versions_for("4.2.0")),
        (["--iceberg", "none"], replace(TESTED, iceberg=None)),
    ],
)
def test_unspecified_jar_releases_fit_spark(
    options: list[str],
    expected: DependencyVersions,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetched: list[DependencyVersions] = []

    def fetch(directory: Path, versions: DependencyVersions) -> list[Path]:
        fetched.append(versions)
        return []

    monkeypatch.setattr("spark_jobs.jars.fetch", fetch)
    CliRunner().invoke(main, [*options, str(tmp_path)], catch_exceptions=False)
    assert fetched == [expected]
