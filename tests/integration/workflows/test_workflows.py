"""The repository's workflows, hooks and forms are valid and call existing targets."""

import importlib.util
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.mongodb.server.releases import SERIES
from tests.support.servers.go import go_program

REPOSITORY = Path(__file__).resolve().parents[3]
GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
MAKEFILES = ("Makefile", "scripts/proofs.mk")
HOOKS = REPOSITORY / ".pre-commit-config.yaml"
ACTIONLINT = ("github.com/rhysd/actionlint/cmd/actionlint", "v1.7.7")


def make_targets() -> set[str]:
    texts = [(REPOSITORY / name).read_text(encoding="utf-8") for name in MAKEFILES]
    return set(re.findall(r"^([a-z-]+):", "\n".join(texts), re.MULTILINE))


@pytest.mark.servers
@pytest.mark.slow
def test_actionlint_accepts_the_workflows() -> None:
    command = [str(go_program(*ACTIONLINT)), "-shellcheck=", "-pyflakes=", *map(str, WORKFLOWS)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_repository_has_a_workflow_for_each_purpose() -> None:
    assert {path.stem for path in WORKFLOWS} == {"audit", "ci", "fuzz", "nightly", "release"}


@pytest.mark.parametrize("path", [*WORKFLOWS, HOOKS], ids=lambda path: path.name)
def test_called_make_targets_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    called = set(re.findall(r"(?:run|entry): make ([a-z-]+)", text))
    called |= set(re.findall(r"^\s+make ([a-z-]+)$", text, re.MULTILINE))
    assert called <= make_targets()


def test_release_requires_proofs_on_each_mongodb_series() -> None:
    jobs = yaml.safe_load((GITHUB / "workflows" / "release.yml").read_text(encoding="utf-8"))[
        "jobs"
    ]
    assert {*SERIES} <= {*jobs["mongodb"]["strategy"]["matrix"]["release"]}
    commands = [step.get("run", "") for step in jobs["mongodb"]["steps"]]
    assert any(command.startswith("make mongo-real ") for command in commands)
    modules = re.findall(r"python -m (\S+)", "\n".join(commands))
    assert modules == ["tests.acceptance.mongo_real.initiation"]
    assert importlib.util.find_spec(modules[0]) is not None
    assert {"mongodb", "test-all"} <= {*jobs["publish"]["needs"]}
    assert jobs["test-all"]["uses"] == "./.github/workflows/nightly.yml"


@pytest.mark.parametrize("path", sorted(GITHUB.rglob("ISSUE_TEMPLATE/*.yml")), ids=lambda p: p.name)
def test_issue_forms_are_valid(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.name != "config.yml":
        assert {"name", "description", "body"} <= form.keys()
        identifiers = [field["id"] for field in form["body"]]
        assert len(identifiers) == len(set(identifiers))


def test_toolchain_meets_the_crates_minimum_rust_version() -> None:
    pinned = re.search(r'channel = "([\d.]+)"', (REPOSITORY / "rust-toolchain.toml").read_text())
    needed = re.search(r'rust-version = "([\d.]+)"', (REPOSITORY / "Cargo.toml").read_text())
    assert pinned is not None
    assert needed is not None
    version = [tuple(map(int, found[1].split("."))) for found in (pinned, needed)]
    assert version[0] >= version[1]
