"""Bills of materials: complete, valid and equal for equal input."""

import json
import sysconfig
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from release.materials import bill_of_materials, licence_texts, python_materials, rust_materials

PYTHON = python_materials(Path(sysconfig.get_path("purelib")))


def test_bill_is_valid_and_reproducible() -> None:
    materials = [*PYTHON, *rust_materials()]
    first = bill_of_materials("cdc-sidecar-cassandra", "1.2.3", materials)
    assert first == bill_of_materials("cdc-sidecar-cassandra", "1.2.3", materials[::-1])
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(first) is None
    urls = {each["purl"].partition("@")[0] for each in json.loads(first)["components"]}
    assert {"pkg:pypi/confluent-kafka", "pkg:cargo/blake3", "pkg:cargo/pyo3"} <= urls


def test_every_linked_crate_has_a_licence() -> None:
    crates = rust_materials()
    assert {each.name for each in crates if each.licence == "unknown"} == set()
    # Tools of the build and of tests are not linked.
    assert {"proptest", "criterion", "libfuzzer-sys"} & {each.name for each in crates} == set()


def test_licence_texts_come_from_distributions() -> None:
    (click,) = (each for each in PYTHON if each.name == "click")
    assert "Redistribution and use in source and binary forms" in licence_texts([click])
