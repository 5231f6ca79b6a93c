"""Protobuf in a real registry, Apicurio, with compatibility BACKWARD; `make registry`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.schema_registry.client import RegistryClient, SchemaRejectedError
from sidecar.schema_registry.settings import registry_settings
from tests.oracle.reference.recordings import Scenario
from tests.support.avro.changes import CHANGE_NAMES, CHANGES
from tests.support.avro.encodings import MODES, Encoding, cases
from tests.support.avro.tables import DDL, inserted
from tests.support.protobuf.reading import value_schema
from tests.support.protobuf.registered import check_types
from tests.support.servers.apicurio import ApicurioRegistry

pytestmark = pytest.mark.servers

# Without columns that disappear from the schema: dropped columns of a table remain in it.
ADDED = {
    name: change
    for name, change in zip(CHANGE_NAMES, CHANGES, strict=True)
    if "dropped" not in name
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApicurioRegistry]:
    with ApicurioRegistry(tmp_path_factory.mktemp("apicurio")) as started:
        yield started


def client(registry: ApicurioRegistry, **settings: str) -> RegistryClient:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return RegistryClient(
        registry_settings(
            "value.converter.", {"schema.registry.url": registry.url, **named}, "value", "PROTOBUF"
        )
    )


@pytest.mark.parametrize(("scenario", "modes"), cases({}, *MODES, all_events=()))
def test_registered_protobuf_reads_every_type(
    registry: ApicurioRegistry, scenario: Scenario, modes: Encoding, tmp_path: Path
) -> None:
    # Each release and mode has its own topics, so that its schemas are registered separately.
    prefix = f"{scenario.root.name}-{scenario.folder.parent.name}-{len(modes)}-{modes.get('names')}"
    check_types(registry.url, scenario, modes, tmp_path, prefix.replace("/", "-"))


@pytest.mark.parametrize(
    ("number", "before", "after", "value"),
    [(number, *change) for number, change in enumerate(ADDED.values())],
    ids=list(ADDED),
)
def test_protobuf_schema_of_altered_table_is_compatible(
    registry: ApicurioRegistry, number: int, before: str, after: str, value: bytes, tmp_path: Path
) -> None:
    asking = client(registry)
    subject = f"changed-{number}-value"
    schemas = [value_schema(inserted(tmp_path, ddl, {"a": value}), ddl) for ddl in (before, after)]
    old, new = (asking.schema_id(subject, schema) for schema in schemas)
    assert old != new
    # Like another replica, or the agent after a restart.
    assert client(registry).schema_id(subject, schemas[0]) == old
    looking = client(registry, auto_register_schemas="false")
    assert looking.schema_id(subject, schemas[1]) == new
    latest = client(registry, auto_register_schemas="false", use_latest_version="true")
    assert latest.schema_id(subject, schemas[1]) == new
    with pytest.raises(SchemaRejectedError, match="does not match the events"):
        latest.schema_id(subject, schemas[0])


def test_protobuf_schema_keeps_dropped_column(registry: ApicurioRegistry, tmp_path: Path) -> None:
    whole = DDL.format(columns="a int, b text")
    schemas = [
        value_schema(inserted(tmp_path, ddl, {"a": b"\0\0\0\1"}), ddl)
        for ddl in (whole, f"{whole}\nALTER TABLE ks.t DROP b USING TIMESTAMP 1;")
    ]
    old, new = (client(registry).schema_id("shrinking-value", schema) for schema in schemas)
    assert old == new


def test_invalid_protobuf_schema_is_rejected(registry: ApicurioRegistry) -> None:
    with pytest.raises(SchemaRejectedError, match="broken-value"):
        client(registry).schema_id("broken-value", "syntax = nothing")
