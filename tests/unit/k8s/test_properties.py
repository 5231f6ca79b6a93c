"""Every file of properties in k8s/ and examples/ passes `config check` of its agent.

The test creates a pod's directories and secrets below a temporary directory.
`test_spark_manifests.py` checks the properties of jobs, which are in their manifests.
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from agent.cli.entry import main as agent
from mongo_agent.cli.entry import main as mongo_agent

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("k8s", "examples")
OF_JOBS = (ROOT / "k8s" / "spark").glob("[!k]*.yaml")
Main = Callable[[list[str]], NoReturn]

AGENTS: dict[str, Main] = {
    "k8s/base/cassandra/cdc.properties": agent,
    "k8s/base/mongo/mongo.properties": mongo_agent,
    "k8s/overlays/mongo-standby/mongo.properties": mongo_agent,
    "k8s/recipes/bitnami/cdc.properties": agent,
    "k8s/recipes/cass-operator/cdc.properties": agent,
    "k8s/recipes/k8ssandra/cdc.properties": agent,
    "k8s/recipes/mongodb-community/mongo.properties": mongo_agent,
    "k8s/recipes/percona-mongodb/mongo.properties": mongo_agent,
    "k8s/recipes/statefulset/cdc.properties": agent,
    "examples/mongo/mongo.properties": mongo_agent,
    "examples/quickstart/cdc.properties": agent,
}
_ABSOLUTE = re.compile(r"(?<=[=:])/(?!/)[\w./-]+")


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_property_files_are_all_tested() -> None:
    files = {
        relative(path)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".properties", ".conf") and "demo-output" not in path.parts
    }
    embedded = {
        path
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.yaml")
        if ".properties: |" in path.read_text()
    }
    assert (files, embedded) == (set(AGENTS), set(OF_JOBS))


def laid_out(text: str, root: Path) -> str:
    """The text with absolute paths moved below `root`.

    Secrets and names with a suffix become files, all other paths directories."""

    def below(match: re.Match[str]) -> str:
        path = root / match[0].lstrip("/")
        if "/secrets/" in match[0] or path.suffix:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("secret\n")
        else:
            path.mkdir(parents=True, exist_ok=True)
        return str(path)

    lines = [
        line if line.startswith("#") else _ABSOLUTE.sub(below, line) for line in text.split("\n")
    ]
    return "\n".join(lines)


@pytest.mark.parametrize("name", AGENTS)
def test_agent_accepts_property_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The quickstart's paths are relative to the repository's root.
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for folder in ("cdc_raw", "relocation", "offsets"):
        (tmp_path / "demo-output" / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CASSANDRA_HOST", "192.0.2.1")
    path = tmp_path / "agent.properties"
    path.write_text(laid_out((ROOT / name).read_text(), tmp_path / "pod"))
    with pytest.raises(SystemExit) as ended:
        AGENTS[name](["config", "check", "--config", str(path)])
    captured = capsys.readouterr()
    assert (ended.value.code, captured.out) == (0, "The configuration is valid.\n"), captured.err
    assert captured.err == "", "no warning either"
