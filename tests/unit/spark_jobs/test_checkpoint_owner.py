"""Ownership of a checkpoint."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.checkpoint_owner import FILE, CheckpointOwner, acquire_checkpoint
from spark_jobs.errors import CheckpointError
from tests.support.agents.released_state import RELEASES, released_versions

JOB = CheckpointOwner("dedupe", "shop.orders", {"identity": "event", "sink": "delta"})
OTHERS = {
    "another job": (replace(JOB, job="reconcile"), "its job is `dedupe`, not `reconcile`"),
    "other topics": (replace(JOB, topics="a"), "its topics is `shop.orders`, not `a`"),
    "another option": (
        replace(JOB, fixed={"identity": "cell", "sink": "delta"}),
        "its `identity` is `event`, not `cell`",
    ),
    "an option less": (replace(JOB, fixed={"identity": "event"}), "its `sink` is `delta`, not ``"),
}


def test_a_job_resumes_from_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    first = acquire_checkpoint(spark, str(tmp_path / "c"), JOB)
    again = acquire_checkpoint(spark, (tmp_path / "c").as_uri(), JOB)
    assert first.is_new and not again.is_new
    assert first.id == again.id
    assert acquire_checkpoint(spark, str(tmp_path / "d"), JOB).id != first.id


@pytest.mark.parametrize("version", released_versions())
def test_a_job_resumes_from_a_checkpoint_of_every_release(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    shutil.copyfile(RELEASES / version / "spark" / FILE, tmp_path / FILE)
    assert not acquire_checkpoint(spark, str(tmp_path), JOB).is_new


def test_another_job_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    acquire_checkpoint(spark, str(tmp_path), JOB)
    content = (tmp_path / FILE).read_text()
    for owner, expected in OTHERS.values():
        with pytest.raises(CheckpointError, match="belongs to another job") as raised:
            acquire_checkpoint(spark, str(tmp_path), owner)
        assert expected in str(raised.value)
    assert (tmp_path / FILE).read_text() == content


def test_a_store_that_was_created_again_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    owner = replace(JOB, store_id="a")
    for _ in range(2):
        acquire_checkpoint(spark, str(tmp_path), owner)
    with pytest.raises(CheckpointError, match=r"store was removed.*start with a new checkpoint"):
        acquire_checkpoint(spark, str(tmp_path), replace(owner, store_id="b"))


def test_another_format_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    acquire_checkpoint(spark, str(tmp_path), JOB)
    file = tmp_path / FILE
    file.write_text(file.read_text().replace('"format": 1', '"format": 2'))
    (tmp_path / f".{FILE}.crc").unlink(missing_ok=True)
    with pytest.raises(CheckpointError, match="its format is 2, but this release writes 1"):
        acquire_checkpoint(spark, str(tmp_path), JOB)


def test_a_checkpoint_of_another_program_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"x"}')
    with pytest.raises(CheckpointError, match="written by another program"):
        acquire_checkpoint(spark, str(tmp_path), JOB)
