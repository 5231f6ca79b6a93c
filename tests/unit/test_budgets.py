"""The counts of a repository against its budgets, and the hook for commit messages."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
SHORT = "agent: read a segment again"


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A repository with one module of ten lines, and its budgets."""
    run(tmp_path, "git", "init", "--quiet")
    shutil.copytree(SCRIPTS, tmp_path / "scripts")
    (tmp_path / "Makefile").write_text("test: ## Run the tests\n")
    (tmp_path / "agent").mkdir()
    write_module(tmp_path, lines=10)
    assert run(tmp_path, "scripts/count", "--write").returncode == 0
    run(tmp_path, "git", "add", ".")
    author = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    done = run(tmp_path, "git", *author, "commit", "--quiet", "--no-verify", "-m", "all: begin")
    assert done.returncode == 0, done.stderr
    return tmp_path


def write_module(clone: Path, lines: int, name: str = "pipeline") -> None:
    (clone / "agent" / f"{name}.py").write_text("x = 1\n" * lines)


def test_counts_within_their_budgets_pass(clone: Path) -> None:
    write_module(clone, lines=50)
    assert run(clone, "scripts/count", "--check").returncode == 0


def test_counts_over_their_budgets_are_reported(clone: Path) -> None:
    write_module(clone, lines=51, name="another")
    done = run(clone, "scripts/count", "--check")
    assert done.returncode == 1
    for budget in ("lines.agent: 61", "small-modules.agent: 2"):
        assert budget in done.stderr
    assert "scripts/count --write" in done.stderr
    run(clone, "scripts/count", "--write")
    assert run(clone, "scripts/count", "--check").returncode == 0


def test_tests_are_counted_separately(clone: Path) -> None:
    (clone / "tests").mkdir()
    (clone / "tests" / "test_pipeline.py").write_text("x = 1\n" * 60)
    done = run(clone, "scripts/count", "--check")
    assert "lines.tests: 60" in done.stderr
    assert "lines.agent" not in done.stderr


@pytest.mark.parametrize(
    ("message", "accepted"),
    [
        (SHORT, True),
        ("mongo_agent/check: ask once\n\nEach question costs a round trip.", True),
        ("Merge branch 'main'", True),
        ("read a segment again", False),
        ("Agent: read a segment again", False),
        (f"{SHORT}.", False),
        (f"{SHORT}\nwithout an empty line", False),
        (f"agent: {'read ' * 14}", False),
    ],
)
def test_commit_message_follows_format(tmp_path: Path, message: str, *, accepted: bool) -> None:
    (tmp_path / "message").write_text(f"{message}\n# A comment of git.\n")
    done = run(tmp_path, SCRIPTS / "commit-msg", "message")
    assert (done.returncode == 0) is accepted, done.stderr


@pytest.mark.parametrize(("body", "accepted"), [("", False), ("\n\nTwo readers.", True)])
def test_raised_budget_needs_a_reason(clone: Path, body: str, *, accepted: bool) -> None:
    write_module(clone, lines=500)
    run(clone, "scripts/count", "--write")
    run(clone, "git", "add", ".")
    (clone / "message").write_text(SHORT + body)
    done = run(clone, "scripts/commit-msg", "message")
    assert (done.returncode == 0) is accepted, done.stderr


def test_lowered_budget_needs_no_reason(clone: Path) -> None:
    budgets = clone / "budgets.toml"
    budgets.write_text(budgets.read_text().replace("agent = 50", "agent = 40"))
    run(clone, "git", "add", ".")
    (clone / "message").write_text(SHORT)
    assert run(clone, "scripts/commit-msg", "message").returncode == 0
