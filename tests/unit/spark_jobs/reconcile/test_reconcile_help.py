"""The help of the commands of reconcile."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "option"),
    [
        ("spark_jobs.reconcile", "counter.tables"),
        ("spark_jobs.reconcile.view", "view.output"),
        ("spark_jobs.reconcile.truncate", "at.us"),
        ("spark_jobs.reconcile.purge", "gc.grace.seconds"),
    ],
)
def test_help_names_the_options(module: str, option: str) -> None:
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", module, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert option in done.stdout
    assert "schema.file" in done.stdout
