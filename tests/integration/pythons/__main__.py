"""`make pythons-check`: the wheel and the demo in each Python of this machine.

Searches `PATH`, pyenv and uv for interpreters of the supported versions. Each gets its own
environment, the locked dependencies and the wheel for every glibc.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from uv import find_uv_bin

from release.wheels import ArtefactError, find_wheel

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
_PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
_ASK = "import sys; print('%d.%d.%d' % sys.version_info[:3], sys.implementation.name)"


def main() -> int:
    try:
        wheel = find_wheel(os.uname().machine, Path("dist")).resolve()
    except ArtefactError as error:
        print(f"{error} `make dist` builds it.", file=sys.stderr)
        return 1
    failed = 0
    for version in VERSIONS:
        python = next(interpreters(version), None)
        if python is None:
            print(f"{version}: not found on this machine", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            problem = run_demo(python, wheel, Path(folder))
        print(f"{full_version(python)} {python}: {problem or 'passed'}", flush=True)
        failed += bool(problem)
    return min(failed, 1)


def interpreters(version: str) -> Iterator[Path]:
    """Interpreters of CPython 3.x: those of pyenv, PATH and uv."""
    for installed in sorted(_PYENV.glob(f"{version}.*"), reverse=True):
        yield installed / "bin" / "python3"
    command = [find_uv_bin(), "python", "find", "--no-python-downloads", version]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    if done.returncode == 0:
        yield Path(done.stdout.strip())


def full_version(python: Path) -> str:
    return subprocess.run(
        [python, "-I", "-c", _ASK], capture_output=True, text=True, check=True
    ).stdout.strip()


def run_demo(python: Path, wheel: Path, folder: Path) -> str:
    """Install the wheel and run the demo with it; returns nothing, or the end of the failed
    output."""
    environment = folder / "venv"
    own = environment / "bin" / "python"
    lock = Path("requirements/runtime.lock").resolve()
    install: list[str | Path] = [find_uv_bin(), "pip", "install", "--quiet", "--python", own]
    # The demo's own modules and none of the agent's, which come from the wheel.
    shutil.copytree("examples", folder / "examples")
    commands: tuple[list[str | Path], ...] = (
        [find_uv_bin(), "venv", "--quiet", "--python", python, environment],
        [*install, "--require-hashes", "--only-binary", ":all:", "-r", lock],
        [*install, "--no-deps", "--no-index", wheel],
        [own, "-m", "examples.quickstart.demo"],
    )
    for command in commands:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"failed: {(done.stdout + done.stderr)[-2000:]}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
