"""Mends taken out again, to see that the campaign finds what they mend: `--without NAME`."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
_PACKAGES = ("agent", "commitlog", "mongo_agent", "sidecar", "spark_jobs")
_CHUNKS = "mongo_agent/snapshot/collection_reader.py"
_FOLLOWER = "spark_jobs/follow/follower.py"
_TIMES = "spark_jobs/mongo_reconcile/changes.py"

MENDS: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "sorted-chunks": [
        (
            "mongo_agent/snapshot/collection_reader.py",
            '.collection, "sort": _FIELD}',
            ".collection}",
        )
    ],
    "masked-values": [
        ("commitlog/masking.py", "if not columns or rights is None or", "if True or")
    ],
    "rejected-table-alone": [(_FOLLOWER, "self._rejected[table.full_name] = error", "raise")],
    "shared-topics": [("sidecar/check/topic_names.py", "if not shared:", "if True:")],
    "reserved-columns": [
        ("spark_jobs/column_names.py", "if problem is not None:", "if problem and False:")
    ],
    "cluster-times": [
        (_TIMES, "collection: string>", "collection: string, ts_ms: bigint>"),
        (
            _TIMES,
            'F.regexp_extract(origin, _CLUSTER_TIME, 1).try_cast("bigint")',
            'event["source"]["ts_ms"]',
        ),
    ],
}
"""By the fault: the smallest changes that bring it back. A file has each first text once."""


def overlay(name: str, folder: Path) -> Path:
    """The repository by links, with real copies of the files that lack the mend."""
    folder.mkdir(parents=True)
    for path in REPOSITORY.iterdir():
        if path.name not in _PACKAGES:
            (folder / path.name).symlink_to(path)
    ignored = shutil.ignore_patterns("__pycache__", "src", "target")
    for package in _PACKAGES:
        source = REPOSITORY / package
        shutil.copytree(source, folder / package, ignore=ignored, copy_function=os.symlink)
    for file, text, by in MENDS[name]:
        target = folder / file
        content = target.read_text(encoding="utf-8")
        if content.count(text) != 1:
            raise ValueError(f"{file} has {text!r} {content.count(text)} times, not once")
        target.unlink()
        target.write_text(content.replace(text, by), encoding="utf-8")
    return folder


def run_without(name: str) -> int:
    """The exit code of the campaign over the overlay, which its agents use too."""
    arguments = [each for each in sys.argv[1:] if each not in ("--without", name)]
    command = [sys.executable, "-m", "tests.acceptance.strangers", *arguments]
    with tempfile.TemporaryDirectory(prefix="strangers-") as folder:
        place = overlay(name, Path(folder) / "without")
        environment = {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=place, env=os.environ | environment).returncode
