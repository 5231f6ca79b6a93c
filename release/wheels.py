"""Wheels and the source archive: built by maturin, completed for an index, and checked."""

import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

GLIBC = "manylinux_2_28"
TARGETS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<path>(?!https?:|#|mailto:)[^)]+)\)")
_BINARIES = Path(sys.executable).parent


class ArtefactError(Exception):
    """An artefact cannot be built, or is not what its name says."""


def installed_targets() -> list[str]:
    """Those that rustup has; a missing one is left to a machine that has it."""
    done = subprocess.run(
        ["rustc", "--print", "target-libdir", "--target", TARGETS[1]],
        capture_output=True,
        text=True,
        check=True,
    )
    if Path(done.stdout.strip()).is_dir():
        return list(TARGETS)
    print(f"skipped: {TARGETS[1]}. To build it: rustup target add {TARGETS[1]}", file=sys.stderr)
    return [TARGETS[0]]


def build_wheel(target: str, out: Path) -> Path:
    """A wheel for every glibc since 2.28; zig links for it, and for other architectures."""
    arguments = ["--release", "--locked", "--zig", "--compatibility", GLIBC, "--quiet"]
    _run("maturin", "build", *arguments, "--target", target, "--out", str(out))
    return find_wheel(target, out)


def find_wheel(target: str, out: Path) -> Path:
    """Raises ArtefactError if there is none."""
    found = list(out.glob(f"cdc_sidecar-*-{GLIBC}_{target.partition('-')[0]}.whl"))
    if len(found) != 1:
        raise ArtefactError(f"{out} has {len(found)} wheels for {target}; 1 is expected.")
    return found[0]


def complete_wheel(wheel: Path, licences: str, repository: str) -> None:
    """Adds the licences of the linked crates, and makes the links of the description absolute."""
    with tempfile.TemporaryDirectory() as folder:
        _run("wheel", "unpack", "--dest", folder, str(wheel))
        (tree,) = Path(folder).iterdir()
        (information,) = tree.glob("*.dist-info")
        (information / "licenses" / "third-party.txt").write_text(licences)
        # maturin's bill names folders and the time of the build; `make dist` writes its own.
        shutil.rmtree(information / "sboms", ignore_errors=True)
        metadata = information / "METADATA"
        metadata.write_text(absolute_links(metadata.read_text(), repository))
        # Equal builds give equal wheels.
        os.environ.setdefault("SOURCE_DATE_EPOCH", "1767225600")
        _run("wheel", "pack", "--dest-dir", str(wheel.parent), str(tree))


def build_source(out: Path, repository: str) -> Path:
    """The source archive, whose description has absolute links."""
    _run("maturin", "sdist", "--out", str(out))
    (archive,) = out.glob("cdc_sidecar-*.tar.gz")
    rewritten = archive.with_suffix(".partial")
    with (
        tarfile.open(archive) as source,
        # Without the time of the build, so that equal builds give equal archives.
        gzip.GzipFile(rewritten, "wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as target,
    ):
        for member in source:
            content = source.extractfile(member)
            data = content.read() if content is not None else b""
            if member.name.endswith("/PKG-INFO"):
                data = absolute_links(data.decode(), repository).encode()
                member.size = len(data)
            target.addfile(member, BytesIO(data) if content is not None else None)
    rewritten.rename(archive)
    return archive


def absolute_links(markdown: str, repository: str) -> str:
    """The README for a package index, which knows no paths of the repository.

    `repository` names a version: `https://host/owner/name/%s/v1.2.3`; `%s` is blob or raw.
    """

    def absolute(found: re.Match[str]) -> str:
        base = repository % ("raw" if found["image"] else "blob")
        return f"{found['image']}[{found['text']}]({base}/{found['path']})"

    return _LINK.sub(absolute, markdown)


def check_wheel(wheel: Path) -> None:
    """Its tags are true: symbols of glibc 2.28 and no other library, and the stable ABI only."""
    shown = _run("auditwheel", "show", str(wheel)).replace("\n", " ")
    if f'is consistent with the following platform tag: "{GLIBC}' not in shown:
        raise ArtefactError(f"{wheel.name} is not for {GLIBC}: {shown}")
    _run("abi3audit", "--strict", str(wheel))


def check_description(files: list[Path]) -> None:
    """An index shows the description and accepts the metadata."""
    _run("twine", "--no-color", "check", "--strict", *map(str, files))


def _run(program: str, *arguments: str) -> str:
    """Runs a program of the virtual environment, which finds the others there too."""
    path = f"{_BINARIES}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which(program, path=path)
    if found is None:
        raise ArtefactError(f"{program} is not installed: run `make dist`, which installs it.")
    done = subprocess.run(
        [found, *arguments],
        check=False,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise ArtefactError(f"{program} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout
