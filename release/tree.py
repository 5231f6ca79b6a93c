"""The files of one package below `/opt/cdc-sidecar`: interpreter, libraries, command, manual."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from uv import find_uv_bin

from release.interpreter import copy_interpreter, inspect
from release.manual import write_completions, write_manual

OWN_MODULES = Path("/usr/local/lib/cdc-sidecar")
"""Where an administrator puts modules for properties such as `event.transform`."""

# Python's OpenSSL looks where the machine that built it has its certificates. Each family of
# distributions has another place.
CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
)

_TEXT = """#!{python} -I
import os
import sys

for file in {certificates!r}:
    if os.path.isfile(file):
        os.environ.setdefault("SSL_CERT_FILE", file)
        break

from {module} import main

sys.argv[0] = {command!r}
main()
"""

_LOCKED = ("--require-hashes", "--only-binary", ":all:")


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that a package installs."""

    name: str
    """`cassandra` or `mongo`"""
    database: str
    command: str
    module: str
    lock: str
    """The file of requirements with exact versions."""
    user: str
    """Owner of the process. The Cassandra agent deletes files of the node's user."""
    properties: str
    """File name of the configuration in `/etc/cdc-sidecar`."""
    data: str = ""
    """Directory of the database on this machine, where the agent has files too."""

    @property
    def home(self) -> Path:
        return Path("/opt/cdc-sidecar") / self.name

    @property
    def package(self) -> str:
        return f"cdc-sidecar-{self.name}"


CASSANDRA = Agent(
    "cassandra",
    "Apache Cassandra",
    "agent",
    "agent.start",
    "requirements/runtime.lock",
    "cassandra",
    "cdc.properties",
    data="/var/lib/cassandra",
)
MONGO = Agent(
    "mongo",
    "MongoDB",
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
    _install(python, packages, [*_LOCKED, "-r", agent.lock])
    _install(python, packages, ["--no-deps", "--no-index", str(wheel)])
    # Its scripts name the interpreter that built them.
    shutil.rmtree(packages / "bin", ignore_errors=True)
    _compile(copied, root / "lib")
    script = root / "bin" / agent.command
    script.write_text(launcher(agent.home / "bin" / "python3", agent.module, agent.command))
    script.chmod(0o755)
    (packages / "own-modules.pth").write_text(f"{OWN_MODULES}\n")
    write_manual(agent.command, agent.module, root / "share" / "man" / "man1")
    write_completions(agent.command, agent.module, root / "share" / "completions")


def build_addition(agent: Agent, lock: str, python: Path, root: Path) -> None:
    """Writes to `root` the packages of `lock` that the tree of the agent lacks."""
    shutil.rmtree(root, ignore_errors=True)
    target = root / "lib" / f"python{inspect(python).version}" / "site-packages"
    _install(python, target, [*_LOCKED, "-r", lock])
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        _install(python, base, [*_LOCKED, "-r", agent.lock])
        for name in {*(path.name for path in base.iterdir()), "bin"}:
            _delete(target / name)
    _compile(python, target)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _install(python: Path, target: Path, arguments: Iterable[str]) -> None:
    """Installs for the version of Python that will import the packages."""
    command: list[str | Path] = [find_uv_bin(), "pip", "install", "--quiet", "--python", python]
    subprocess.run([*command, "--target", target, *arguments], check=True)


def _compile(python: Path, directory: Path) -> None:
    """Compiles byte code that depends on the sources alone, so that builds can be compared."""
    reproducible = ["--invalidation-mode", "unchecked-hash"]
    # The excluded part of javaobj needs Python 3.12 and is never imported.
    command: list[str | Path] = [python, "-I", "-m", "compileall", "-q", "-x", "javaobj/v3/"]
    subprocess.run([*command, *reproducible, directory], check=True)


def launcher(
    python: Path, module: str, command: str, certificates: tuple[str, ...] = CERTIFICATES
) -> str:
    """A script that calls `main` of the module. Python's variables (`PYTHON…`) have no effect."""
    return _TEXT.format(python=python, certificates=certificates, module=module, command=command)
