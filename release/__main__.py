"""`make dist`: all artefacts of a release in `dist/`, each with its size."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from release.interpreter import InterpreterError
from release.materials import (
    bill_of_materials,
    licence_texts,
    python_materials,
    rust_materials,
)
from release.packages import Package, build_packages
from release.tree import CASSANDRA, MONGO, build_addition, build_tree

_WORK = Path("build") / "release"
_GLIBC = "manylinux_2_28"
_TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
_BINARIES = Path(sys.executable).parent


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("dist"), show_default=True)
@click.option(
    "--python",
    type=click.Path(path_type=Path, exists=True),
    help="Interpreter that the packages contain.  [default: that of the virtual environment]",
)
@click.option("--target", "targets", multiple=True, help="Rust targets of the wheels.")
def main(out: Path, python: Path | None, targets: tuple[str, ...]) -> None:
    """Build wheels, source archive, packages and bill of materials."""
    out.mkdir(exist_ok=True)
    for stale in out.glob("cdc[-_]sidecar*"):
        stale.unlink()
    _WORK.mkdir(parents=True, exist_ok=True)
    version = tomllib.loads(Path("pyproject.toml").read_text())["project"]["version"]
    machine = os.uname().machine
    built = [build_wheel(target, out) for target in targets or _installed_targets()]
    built.append(build_source(out))
    (wheel,) = (each for each in built if each.name.endswith(f"{machine}.whl"))
    packages = packages_of(version)
    interpreter = python or Path(sys.base_prefix, "bin", "python3")
    try:
        for package in packages:
            print(f"{package.name}: building {package.tree} …", file=sys.stderr)
            build(package, wheel, interpreter)
            built.append(describe_materials(package, out))
            built += build_packages(package, out)
    except InterpreterError as error:
        raise click.ClickException(str(error)) from error
    report(built)


def build_wheel(target: str, out: Path) -> Path:
    """A wheel for every glibc since 2.28; zig links for it, and for other architectures."""
    print(f"{target}: building the wheel …", file=sys.stderr)
    arguments = ["--release", "--locked", "--zig", "--compatibility", _GLIBC, "--quiet"]
    _maturin("build", *arguments, "--target", target, "--out", str(out))
    (wheel,) = out.glob(f"cdc_sidecar-*-{_GLIBC}_{target.partition('-')[0]}.whl")
    return wheel


def build_source(out: Path) -> Path:
    _maturin("sdist", "--out", str(out))
    (archive,) = out.glob("cdc_sidecar-*.tar.gz")
    return archive


def packages_of(version: str) -> list[Package]:
    """The packages of a version; their trees are below `build/release`."""
    agents = [
        Package(
            agent.package,
            f"Change data capture for {agent.database}: changes to Kafka",
            version,
            _WORK / agent.package / "home",
            agent.home,
            agent,
        )
        for agent in (CASSANDRA, MONGO)
    ]
    name = f"{CASSANDRA.package}-gcs"
    addition = Package(
        name,
        f"Google Cloud Storage for {CASSANDRA.package}",
        version,
        _WORK / name / "home",
        CASSANDRA.home,
        requires=CASSANDRA.package,
    )
    return [*agents, addition]


def build(package: Package, wheel: Path, python: Path) -> None:
    """Writes the tree of a package."""
    if package.service is not None:
        build_tree(package.service, wheel, python, package.tree)
    else:
        build_addition(CASSANDRA, "requirements/gcs.lock", python, package.tree)


def describe_materials(package: Package, out: Path) -> Path:
    """Writes the bill of materials beside the package, and both it and the licences into it."""
    (site_packages,) = (package.tree / "lib").glob("python3.*/site-packages")
    materials = [*python_materials(site_packages), *rust_materials()]
    document = bill_of_materials(package.name, package.version, materials)
    shared = package.tree / "share" / "licenses" / package.name
    shared.mkdir(parents=True)
    (shared / "third-party.txt").write_text(licence_texts(materials))
    (shared / "sbom.cdx.json").write_text(document)
    shutil.copy("LICENSE", shared / "LICENSE")
    file = out / f"{package.name}-{package.version}.cdx.json"
    file.write_text(document)
    return file


def report(files: list[Path]) -> None:
    """A table of names and sizes."""
    table = Table("file", "MiB", box=None)
    for file in files:
        table.add_row(file.name, f"{file.stat().st_size / (1 << 20):.1f}")
    Console().print(table)


def _installed_targets() -> list[str]:
    """Those that rustup has; a missing one is left to a machine that has it."""
    done = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", _TARGETS[1]],
        capture_output=True,
        text=True,
        check=True,
    )
    if Path(done.stdout.strip()).is_dir():
        return list(_TARGETS)
    print(f"skipped: {_TARGETS[1]}. To build it: rustup target add {_TARGETS[1]}", file=sys.stderr)
    return [_TARGETS[0]]


def _maturin(*arguments: str) -> None:
    path = f"{_BINARIES}{os.pathsep}{os.environ['PATH']}"
    program = shutil.which("maturin", path=path)
    assert program is not None
    subprocess.run([program, *arguments], check=True, env=os.environ | {"PATH": path})


if __name__ == "__main__":
    main()
