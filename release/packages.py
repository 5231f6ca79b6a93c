"""Packages for Debian and RPM from built trees, by nfpm."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from release.libraries import required_glibc
from release.tree import Agent

_NFPM = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0"
SOURCES = Path("release") / "packages"
"""Units, scripts and configurations; a folder for each agent."""
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
FORMATS = ("deb", "rpm")


@dataclass(frozen=True, slots=True)
class Package:
    """What one package has: a tree at a path, and the files of `release/packages/<agent>`."""

    name: str
    description: str
    version: str
    """Of the project, as in `pyproject.toml`."""
    tree: Path
    home: Path
    service: Agent | None = None
    """The agent whose unit, configuration and scripts belong to the package."""
    requires: str | None = None
    """A package of the same version."""
    sources: Path = SOURCES


def document(package: Package, machine: str) -> Mapping[str, Any]:
    """The configuration of nfpm, for one architecture (`os.uname().machine`)."""
    dependencies: dict[str, list[str]] = {each: [] for each in FORMATS}
    newest = required_glibc(package.tree)
    if newest is not None:
        glibc = ".".join(map(str, newest))
        dependencies["deb"] += [f"libc6 (>= {glibc})", "libgcc-s1", "libstdc++6"]
        dependencies["rpm"] += [f"glibc >= {glibc}", "libgcc", "libstdc++"]
    if package.service is not None:
        dependencies["deb"].append("passwd")
        dependencies["rpm"].append("shadow-utils")
    if package.requires is not None:
        dependencies["deb"].append(f"{package.requires} (= {package.version})")
        dependencies["rpm"].append(f"{package.requires} = {package.version}")
    return {
        "name": package.name,
        "arch": _ARCHITECTURES[machine],
        "platform": "linux",
        "version": package.version,
        "section": "database",
        "priority": "optional",
        "maintainer": "cdc-sidecar maintainers <maintainers@cdc-sidecar.example>",
        "description": package.description,
        "license": "Apache-2.0",
        "mtime": "2026-01-01T00:00:00Z",
        "contents": list(_contents(package)),
        "scripts": _scripts(package),
        "overrides": {each: {"depends": dependencies[each]} for each in FORMATS},
        "rpm": {"compression": "zstd"},
        "deb": {"compression": "xz"},
    }


def build_packages(package: Package, target: Path) -> list[Path]:
    """Writes a package of each format to `target` and returns the files."""
    configuration = package.tree.parent / f"{package.name}.yaml"
    configuration.write_text(yaml.safe_dump(document(package, os.uname().machine)))
    return [_build(configuration, each, target) for each in FORMATS]


def _build(configuration: Path, packager: str, target: Path) -> Path:
    command: list[str | Path] = ["go", "run", _NFPM, "package", "--config", configuration]
    # The version above is a module of its own, not one that this repository requires.
    environment = os.environ | {"GOFLAGS": "-mod=mod"}
    done = subprocess.run(
        [*command, "--packager", packager, "--target", target],
        check=True,
        env=environment,
        capture_output=True,
        text=True,
    )
    return Path(done.stdout.strip().rpartition("created package: ")[2])


def _contents(package: Package) -> Iterator[Mapping[str, Any]]:
    yield {"src": f"{package.tree}/", "dst": f"{package.home}/", "type": "tree"}
    if package.service is None:
        return
    folder = package.sources / package.service.name
    unit = f"{package.service.package}.service"
    yield {
        "src": str(folder / unit),
        "dst": f"/usr/lib/systemd/system/{unit}",
        "file_info": {"mode": 0o644},
    }
    for properties in folder.glob("*.properties"):
        yield {
            "src": str(properties),
            "dst": f"/etc/cdc-sidecar/{properties.name}",
            "type": "config|noreplace",
            "file_info": {"mode": 0o640},
        }


def _scripts(package: Package) -> Mapping[str, str]:
    """The scripts of the agent's package, completed beside its tree."""
    agent = package.service
    if agent is None:
        return {}
    values = {
        "home": str(agent.home),
        "package": agent.package,
        "command": agent.command,
        "user": agent.user,
        "properties": agent.properties,
        "data": agent.data,
    }
    written = {}
    for name in ("postinstall", "preremove", "postremove"):
        text = (package.sources / f"{name}.sh").read_text()
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        script = package.tree.parent / f"{agent.package}-{name}.sh"
        script.write_text(text)
        written[name] = str(script)
    return written
