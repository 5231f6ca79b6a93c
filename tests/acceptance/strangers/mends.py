"""Mends taken out again, to see that the campaign finds what they mend: `--without NAME`.

A mend is named by its kind. Each is a piece of production code with the text that it had before in
spirit: the smallest change that brings the fault back.
"""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
_OVERLAY = "CDC_STRANGERS_OVERLAY"
_PACKAGES = ("agent", "commitlog", "mongo_agent", "sidecar", "spark_jobs")


@dataclass(frozen=True, slots=True)
class Replaced:
    """A text that a file of the repository has once."""

    file: str
    text: str
    by: str


MENDS: Mapping[str, Sequence[Replaced]] = {
    "sorted-chunks": (
        Replaced(
            "mongo_agent/snapshot/collection_reader.py",
            '{"find": snapshot.collection, "sort": _FIELD}',
            '{"find": snapshot.collection}',
        ),
    ),
    "masked-values": (
        Replaced(
            "commitlog/masking.py",
            "if not columns or rights is None or rights.can_unmask(table):",
            "if True:",
        ),
    ),
    "long-json": (Replaced("spark_jobs/source/json_values.py", ", **_NO_LIMITS", ""),),
    "rejected-table-alone": (
        Replaced(
            "spark_jobs/follow/follower.py",
            "self._rejected[table.full_name] = error",
            "raise",
        ),
    ),
    "shared-topics": (Replaced("sidecar/check/topic_names.py", "if not shared:", "if True:"),),
    "reserved-columns": (
        Replaced(
            "spark_jobs/column_names.py",
            "if problem is not None:",
            "if problem is not None and False:",
        ),
    ),
    "cluster-times": (
        Replaced(
            "spark_jobs/mongo_reconcile/changes.py",
            "source: struct<db: string, collection: string>",
            "source: struct<db: string, collection: string, ts_ms: bigint>",
        ),
        Replaced(
            "spark_jobs/mongo_reconcile/changes.py",
            'F.regexp_extract(origin, _CLUSTER_TIME, 1).try_cast("bigint")',
            'event["source"]["ts_ms"]',
        ),
    ),
}


def overlay(name: str, folder: Path) -> Path:
    """The repository by links, with real copies of the files that lack the mend."""
    folder.mkdir(parents=True)
    for path in REPOSITORY.iterdir():
        if path.name not in _PACKAGES:
            (folder / path.name).symlink_to(path)
    for package in _PACKAGES:
        shutil.copytree(
            REPOSITORY / package,
            folder / package,
            copy_function=_link,
            ignore=shutil.ignore_patterns("__pycache__", "src", "target"),
        )
    for each in MENDS[name]:
        target = folder / each.file
        text = target.read_text(encoding="utf-8")
        if text.count(each.text) != 1:
            times = text.count(each.text)
            raise ValueError(f"{each.file} has {each.text!r} {times} times, not once")
        target.unlink()
        target.write_text(text.replace(each.text, each.by), encoding="utf-8")
    return folder


def run_without(name: str, folder: Path) -> None:
    """Replace this process by one over the overlay; its children use the overlay too."""
    place = overlay(name, folder / "without")
    arguments = [each for each in sys.argv[1:] if each not in ("--without", name)]
    command = [sys.executable, "-m", "tests.acceptance.strangers", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(place), _OVERLAY: str(folder)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    os.chdir(place)
    os.execve(sys.executable, command, environment)


def remove_overlay() -> None:
    """At the end of a process that `run_without` began."""
    if place := os.environ.get(_OVERLAY):
        os.chdir(REPOSITORY)
        shutil.rmtree(place)


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(source)
