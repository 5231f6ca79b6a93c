"""`make mongo-real` as a separate process, for its tests."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.servers.cache import REPOSITORY

NOT_ON_A_SET = {"shards": "the deployment is a replica set"}


@dataclass(frozen=True, slots=True)
class Done:
    """Its output, and the results of its report."""

    exit_code: int
    output: str
    results: Sequence[dict[str, Any]]


def prove(folder: Path, cases: Iterable[str], *arguments: str, **environment: str) -> Done:
    """Run the cases in small; `folder` contains report and temporary files."""
    report = folder / "report"
    chosen = [part for name in cases for part in ("--case", name)]
    command = [sys.executable, "-m", "tests.acceptance.mongo_real", "--small"]
    done = subprocess.run(
        [*command, "--report", str(report), *chosen, *arguments],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(folder), "COLUMNS": "500", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    print(done.stdout, done.stderr)
    written = report.with_suffix(".json")
    results = json.loads(written.read_text())["results"] if written.exists() else []
    return Done(done.returncode, done.stdout, results)


def reasons(results: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Reasons of the cases that are not applicable."""
    return {each["case"]: each["note"] for each in results if each["outcome"] == "not applicable"}
