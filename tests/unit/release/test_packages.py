"""The configuration of packages: dependencies, files and scripts."""

import configparser
import re
import subprocess
from pathlib import Path

import pytest

from release.packages import Package, document
from release.tree import CASSANDRA, MONGO, Agent

REPOSITORY = Path(__file__).resolve().parents[3]
AGENTS = pytest.mark.parametrize("agent", [CASSANDRA, MONGO], ids=lambda agent: agent.name)


def package(tmp_path: Path, agent: Agent | None, requires: str | None = None) -> Package:
    tree = tmp_path / "home"
    (tree / "lib").mkdir(parents=True)
    (tree / "lib" / "libold.so").write_bytes(b"\x7fELF GLIBC_2.17 GLIBC_2.3.4")
    (tree / "lib" / "libnew.so").write_bytes(b"\x7fELF GLIBC_2.28")
    (tree / "lib" / "page.txt").write_bytes(b"GLIBC_2.99 in a text is no requirement")
    name = agent.package if agent is not None else "cdc-sidecar-cassandra-gcs"
    return Package(name, "a package", "1.2.3", tree, Path("/opt/cdc-sidecar/x"), agent, requires)


@AGENTS
def test_package_depends_on_newest_glibc_of_files(tmp_path: Path, agent: Agent) -> None:
    overrides = document(package(tmp_path, agent), "x86_64")["overrides"]
    assert "libc6 (>= 2.28)" in overrides["deb"]["depends"]
    assert "glibc >= 2.28" in overrides["rpm"]["depends"]


def test_extension_package_depends_on_same_version(tmp_path: Path) -> None:
    made = document(package(tmp_path, None, "cdc-sidecar-cassandra"), "aarch64")
    assert made["arch"] == "arm64"
    assert "cdc-sidecar-cassandra (= 1.2.3)" in made["overrides"]["deb"]["depends"]
    assert "cdc-sidecar-cassandra = 1.2.3" in made["overrides"]["rpm"]["depends"]
    assert (made["scripts"], len(made["contents"])) == ({}, 1)


def test_pure_python_package_does_not_depend_on_glibc(tmp_path: Path) -> None:
    made = package(tmp_path, None, "cdc-sidecar-cassandra")
    for library in (made.tree / "lib").glob("*.so"):
        library.unlink()
    depends = document(made, "x86_64")["overrides"]["deb"]["depends"]
    assert depends == ["cdc-sidecar-cassandra (= 1.2.3)"]


@AGENTS
def test_configuration_is_kept_on_upgrade(tmp_path: Path, agent: Agent) -> None:
    contents = document(package(tmp_path, agent), "x86_64")["contents"]
    (configuration,) = (each for each in contents if each["dst"].startswith("/etc/"))
    assert configuration["dst"] == f"/etc/cdc-sidecar/{agent.properties}"
    assert configuration["type"] == "config|noreplace"
    assert configuration["file_info"] == {"mode": 0o640}


@AGENTS
def test_scripts_are_complete_shell(tmp_path: Path, agent: Agent) -> None:
    scripts = document(package(tmp_path, agent), "x86_64")["scripts"]
    assert set(scripts) == {"postinstall", "preremove", "postremove"}
    for script in scripts.values():
        assert "@" not in Path(script).read_text()
        subprocess.run(["sh", "-n", script], check=True)


@AGENTS
def test_unit_is_hardened_and_always_restarts(agent: Agent) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign,assignment]
    unit.read(Path("release/packages") / agent.name / f"{agent.package}.service")
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    service = unit["Service"]
    assert (service["Restart"], service["User"]) == ("always", agent.user)
    assert (service["ProtectSystem"], service["NoNewPrivileges"]) == ("strict", "true")
    assert service["ExecStart"] == (
        f"{agent.home}/bin/{agent.command} --config /etc/cdc-sidecar/{agent.properties}"
    )


def test_units_and_pods_share_memory_limits() -> None:
    """The agent derives its limits for sections and mutations from the memory limit."""
    ansible = REPOSITORY / "examples/ansible/roles/cdc_sidecar/templates"
    units = [*REPOSITORY.glob("release/packages/*/*.service"), *ansible.glob("*.service.j2")]
    assert len(units) == 3
    limits = re.compile(r"limits:\n\s+memory: (\d+)Mi")
    manifests = [*REPOSITORY.glob("k8s/**/*.yaml"), *REPOSITORY.glob("k8s/**/*.tpl")]
    pods = {
        int(limit)
        for manifest in manifests
        for limit in limits.findall(manifest.read_text(encoding="utf-8"))
    }
    found = {
        unit.name: int(re.findall(r"(?m)^MemoryMax=(\d+)M$", unit.read_text())[0]) for unit in units
    }
    assert set(found.values()) == {384, 448}
    # The container that copies a binary has a limit too.
    assert pods == {384, 448, 64}
    assert all(("mongo" in name) == (limit == 384) for name, limit in found.items())
