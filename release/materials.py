"""What an artefact is made of: a CycloneDX bill of materials, and the licence texts."""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from packageurl import PackageURL

_LICENCE_NAMES = ("LICEN[CS]E*", "COPYING*", "NOTICE*", "UNLICENSE*")
_RULE = "=" * 80
_CLASSIFIER = "License :: OSI Approved :: "


@dataclass(frozen=True, slots=True, order=True)
class Material:
    """A third-party package inside of an artefact."""

    kind: str
    """`pypi` or `cargo`, as in a package URL."""
    name: str
    version: str
    licence: str
    """An SPDX expression, or the name that its author gives."""
    texts: tuple[str, ...] = ()


def python_materials(site_packages: Path) -> list[Material]:
    """The distributions of a directory, without the project's own."""
    found = distributions(path=[str(site_packages)])
    return sorted(_python_material(each) for each in found if each.name != "cdc-sidecar")


def rust_materials() -> list[Material]:
    """The crates that are linked into the extension."""
    platform = ["--filter-platform", "x86_64-unknown-linux-gnu"]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *platform]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {
        node["id"]: [
            each["pkg"]
            for each in node["deps"]
            if any(kind["kind"] is None for kind in each["dep_kinds"])
        ]
        for node in metadata["resolve"]["nodes"]
    }
    pending = [id for id, package in packages.items() if package["name"] == "cdc-extension"]
    linked: set[str] = set()
    while pending:
        id = pending.pop()
        if id not in linked:
            linked.add(id)
            pending += edges[id]
    own = set(metadata["workspace_members"])
    return sorted(
        Material(
            "cargo",
            packages[id]["name"],
            packages[id]["version"],
            packages[id]["license"] or "unknown",
            tuple(_texts(Path(packages[id]["manifest_path"]).parent)),
        )
        for id in linked - own
    )


def bill_of_materials(name: str, version: str, materials: list[Material]) -> str:
    """CycloneDX 1.6 as JSON, without time and serial number, so that builds can be compared."""
    bom = Bom(serial_number=None)
    artefact = Component(name=name, version=version, type=ComponentType.APPLICATION, bom_ref=name)
    bom.metadata.component = artefact
    licences = LicenseFactory()
    for material in materials:
        url = PackageURL(material.kind, name=material.name, version=material.version)
        bom.components.add(
            Component(
                name=material.name,
                version=material.version,
                type=ComponentType.LIBRARY,
                purl=url,
                bom_ref=url.to_string(),
                licenses=[licences.make_from_string(material.licence)],
            )
        )
    bom.register_dependency(artefact, bom.components)
    written = make_outputter(bom, OutputFormat.JSON, SchemaVersion.V1_6).output_as_string(indent=1)
    document = json.loads(written)
    document.pop("serialNumber", None)
    document["metadata"].pop("timestamp", None)
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def licence_texts(materials: list[Material]) -> str:
    """The licences of all materials; a text of several packages comes once, after their names."""
    names: dict[str, list[str]] = {}
    for material in materials:
        texts = material.texts or ("(The package contains no text of its licence.)",)
        for text in texts:
            names.setdefault(text.strip(), []).append(
                f"{material.name} {material.version}: {material.licence}"
            )
    return "\n".join(
        "\n".join([_RULE, *packages, _RULE, "", text, ""]) for text, packages in names.items()
    )


def _python_material(found: Distribution) -> Material:
    metadata = found.metadata
    licence = _classified(metadata.get_all("Classifier"))
    for field in ("License", "License-Expression"):
        if field in metadata and metadata[field].strip() and "\n" not in metadata[field].strip():
            licence = metadata[field].strip()
    files = [
        Path(str(found.locate_file(file)))
        for file in found.files or ()
        if ".dist-info" in str(file) and any(file.match(name) for name in _LICENCE_NAMES)
    ]
    texts = tuple(file.read_text(errors="replace") for file in sorted(files) if file.is_file())
    return Material("pypi", metadata["Name"], metadata["Version"], licence or "unknown", texts)


def _classified(classifiers: list[str] | None) -> str:
    names = [
        each.removeprefix(_CLASSIFIER) for each in classifiers or () if each.startswith(_CLASSIFIER)
    ]
    return " / ".join(names)


def _texts(folder: Path) -> Iterator[str]:
    for file in sorted({file for name in _LICENCE_NAMES for file in folder.glob(name)}):
        if file.is_file():
            yield file.read_text(errors="replace")
