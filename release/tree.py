"""The files of one package below `/opt/cdc-sidecar`: interpreter, libraries, command, manual."""

import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from uv import find_uv_bin

from release.interpreter import copy_interpreter, inspect
from release.manual import write_completions, write_manual

_LAUNCHER = """#!{home}/bin/python3 -I
import sys

from {module} import main

sys.argv[0] = "{command}"
main()
"""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that a package installs."""

    name: str
    """`cassandra` or `mongo`"""
    command: str
    module: str
    lock: str
    """The file of requirements with exact versions."""
    user: str
    """Owner of the process. The Cassandra agent deletes files of the node's user."""
    properties: str
    """File name of the configuration in `/etc/cdc-sidecar`."""

    @property
    def home(self) -> Path:
        return Path("/opt/cdc-sidecar") / self.name

    @property
    def package(self) -> str:
        return f"cdc-sidecar-{self.name}"


CASSANDRA = Agent(
    "cassandra",
    "agent",
    "agent.start",
    "requirements/runtime.lock",
    "cassandra",
    "cdc.properties",
)
MONGO = Agent(
    "mongo",
    "mongo-agent",
    "mongo_agent.start",
    "requirements/mongo.lock",
    "cdc-sidecar",
    "mongo.properties",
)


def build_tree(agent: Agent, wheel: Path, python: Path, root: Path) -> None:
    """Writes the tree of an agent to `root`, which becomes its home."""
    shutil.rmtree(root, ignore_errors=True)
    copied = copy_interpreter(inspect(python), root)
    (packages,) = (root / "lib").glob("python3.*/site-packages")
    install = ["--require-hashes", "--only-binary", ":all:", "-r", agent.lock]
    _install(python, packages, install)
    _install(python, packages, ["--no-deps", "--no-index", str(wheel)])
    # Its scripts name the interpreter that built them.
    shutil.rmtree(packages / "bin", ignore_errors=True)
    _compile(copied, root / "lib")
    launcher = root / "bin" / agent.command
    launcher.write_text(
        _LAUNCHER.format(home=agent.home, module=agent.module, command=agent.command)
    )
    launcher.chmod(0o755)
    write_manual(agent.command, agent.module, root / "share" / "man" / "man1")
    write_completions(agent.command, agent.module, root / "share" / "completions")


def build_addition(agent: Agent, lock: str, python: Path, root: Path) -> None:
    """Writes to `root` the packages of `lock` that the tree of the agent lacks."""
    shutil.rmtree(root, ignore_errors=True)
    base = {path.name for path in _site_packages(python, agent.lock, root / "base").iterdir()}
    added = _site_packages(python, lock, root / "all")
    version = inspect(python).version
    target = root / "home" / "lib" / f"python{version}" / "site-packages"
    target.mkdir(parents=True)
    for path in added.iterdir():
        if path.name not in base | {"bin"}:
            shutil.move(path, target / path.name)
    shutil.rmtree(root / "base")
    shutil.rmtree(root / "all")
    _compile(python, target)


def _site_packages(python: Path, lock: str, target: Path) -> Path:
    target.mkdir(parents=True)
    _install(python, target, ["--require-hashes", "--only-binary", ":all:", "-r", lock])
    return target


def _install(python: Path, target: Path, arguments: Iterable[str]) -> None:
    """Installs for the version of Python that will import the packages."""
    command = [find_uv_bin(), "pip", "install", "--quiet", "--python", python, "--target", target]
    subprocess.run([*command, *arguments], check=True)


def _compile(python: Path, directory: Path) -> None:
    """Compiles byte code that depends on the sources alone, so that builds can be compared."""
    reproducible = ["--invalidation-mode", "unchecked-hash"]
    # The excluded part of javaobj needs Python 3.12 and is never imported.
    command = [python, "-I", "-m", "compileall", "-q", "-x", "javaobj/v3/", *reproducible]
    subprocess.run([*command, directory], check=True)
