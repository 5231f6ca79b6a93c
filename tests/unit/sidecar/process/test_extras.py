"""A missing optional package is reported with the command that installs it."""

import subprocess
import sys

import pytest

from sidecar.errors import ConfigError
from sidecar.process import extras
from sidecar.store.base import RemoteDirectory, StoreSettings
from sidecar.store.gcs import GcsStore

# An interpreter that finds no third-party package of the given names.
WITHOUT = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
{code}
"""


def run_without(names: set[str], code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = WITHOUT.format(names=names, code=code)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False
    )


def test_gcs_store_reports_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    with pytest.raises(ConfigError) as raised:
        GcsStore(RemoteDirectory("bucket", "prefix"), StoreSettings())
    assert "pip install 'cdc-sidecar[gcs]'" in str(raised.value)


def test_mongo_agent_reports_the_missing_extra() -> None:
    done = run_without(
        {"pymongo", "bson", "gridfs"}, "from mongo_agent.start import main; main()", "--version"
    )
    assert done.returncode == 2
    assert "Run: pip install 'cdc-sidecar[mongo]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_cassandra_agent_needs_no_optional_package() -> None:
    done = run_without(
        {"google", "google_crc32c", "pymongo", "bson", "gridfs", "opentelemetry"},
        "import agent.service, agent.pipeline, agent.transfer.registry, agent.check.checks\n"
        "from agent.start import main; main()",
        *("config", "docs"),
    )
    assert done.returncode == 0, done.stderr
