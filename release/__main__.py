"""`make dist`: all artefacts of a release in `dist/`, each with its size."""

import hashlib
import os
import shutil
import sys
import tomllib
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from release.interpreter import InterpreterError
from release.materials import (
    Material,
    bill_of_materials,
    licence_texts,
    python_materials,
    rust_materials,
)
from release.packages import Package, build_packages
from release.tree import CASSANDRA, MONGO, build_addition, build_tree
from release.wheels import (
    ArtefactError,
    build_source,
    build_wheel,
    check_description,
    check_wheel,
    complete_wheel,
    find_wheel,
    installed_targets,
)

STORES = {"gcs": "Google Cloud Storage", "s3": "S3"}
"""Extras of the Cassandra agent that are packages of their own."""
_WORK = Path("build") / "release"


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("dist"), show_default=True)
@click.option(
    "--python",
    type=click.Path(path_type=Path, exists=True),
    envvar="PYTHON_RUNTIME",
    help="Interpreter that the packages contain.  [default: that of the virtual environment]",
)
@click.option("--target", "targets", multiple=True, help="Rust targets of the wheels.")
@click.option("--reuse-wheels", is_flag=True, help="Take the wheels that --out has.")
def main(out: Path, python: Path | None, targets: tuple[str, ...], reuse_wheels: bool) -> None:
    """Build wheels, source archive, packages, bills of materials, licences and checksums."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    version = project["version"]
    out.mkdir(exist_ok=True)
    kept = set(out.glob("cdc_sidecar*.whl")) if reuse_wheels else set()
    for stale in {*out.glob("cdc[-_]sidecar*"), out / "SHA256SUMS"} - kept:
        stale.unlink(missing_ok=True)
    _WORK.mkdir(parents=True, exist_ok=True)
    try:
        chosen = targets or tuple(installed_targets())
        built = build_python(version, project["urls"]["Source"], out, chosen, reuse_wheels)
        built += build_system(version, out, python)
    except (ArtefactError, InterpreterError) as error:
        raise click.ClickException(str(error)) from error
    write_checksums(built, out)
    report(built)


def build_python(
    version: str, source_url: str, out: Path, targets: tuple[str, ...], reuse: bool
) -> list[Path]:
    """The wheels and the source archive, with what is linked into the extension."""
    repository = f"{source_url}/%s/v{version}"
    crates = rust_materials()
    wheels = []
    for target in targets:
        if not reuse:
            print(f"{target}: building the wheel …", file=sys.stderr)
            complete_wheel(build_wheel(target, out), licence_texts(crates), repository)
        wheels.append(find_wheel(target, out))
        check_wheel(wheels[-1])
    source = build_source(out, repository)
    check_description([*wheels, source])
    name = f"cdc_sidecar-{version}"
    return [*wheels, source, *write_materials("cdc-sidecar", version, crates, out / name)]


def build_system(version: str, out: Path, python: Path | None) -> list[Path]:
    """The packages for this machine's architecture."""
    wheel = find_wheel(os.uname().machine, out)
    interpreter = python or Path(sys.base_prefix, "bin", "python3")
    built = []
    for package in packages_of(version):
        print(f"{package.name}: building {package.tree} …", file=sys.stderr)
        build(package, wheel, interpreter)
        built += describe_materials(package, out)
        built += build_packages(package, out)
    return built


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
    additions = [
        Package(
            f"{CASSANDRA.package}-{extra}",
            f"{store} for {CASSANDRA.package}",
            version,
            _WORK / f"{CASSANDRA.package}-{extra}" / "home",
            CASSANDRA.home,
            requires=CASSANDRA.package,
        )
        for extra, store in STORES.items()
    ]
    return [*agents, *additions]


def build(package: Package, wheel: Path, python: Path) -> None:
    """Writes the tree of a package."""
    if package.service is not None:
        build_tree(package.service, wheel, python, package.tree)
    else:
        extra = package.name.removeprefix(f"{CASSANDRA.package}-")
        build_addition(CASSANDRA, f"requirements/{extra}.lock", python, package.tree)


def describe_materials(package: Package, out: Path) -> list[Path]:
    """Writes bill of materials and licences beside the package, and into it."""
    (site_packages,) = (package.tree / "lib").glob("python3.*/site-packages")
    crates = rust_materials() if package.service is not None else []
    materials = [*python_materials(site_packages), *crates]
    written = write_materials(
        package.name, package.version, materials, out / f"{package.name}-{package.version}"
    )
    shared = package.tree / "share" / "licenses" / package.name
    shared.mkdir(parents=True)
    for file, name in zip(written, ("sbom.cdx.json", "third-party.txt"), strict=True):
        shutil.copy(file, shared / name)
    shutil.copy("LICENSE", shared / "LICENSE")
    return written


def write_materials(name: str, version: str, materials: list[Material], beside: Path) -> list[Path]:
    """The bill of materials and the licences, named after an artefact."""
    bill = beside.with_name(f"{beside.name}.cdx.json")
    bill.write_text(bill_of_materials(name, version, materials))
    licences = beside.with_name(f"{beside.name}.licences.txt")
    licences.write_text(licence_texts(materials))
    return [bill, licences]


def write_checksums(files: list[Path], out: Path) -> None:
    """`SHA256SUMS`, as `sha256sum --check` reads it."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}" for file in files]
    (out / "SHA256SUMS").write_text("\n".join(sorted(lines)) + "\n")


def report(files: list[Path]) -> None:
    """A table of names and sizes."""
    table = Table("file", "MiB", box=None)
    for file in files:
        table.add_row(file.name, f"{file.stat().st_size / (1 << 20):.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
