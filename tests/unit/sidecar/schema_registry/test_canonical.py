"""Protobuf texts that differ only in comments and spaces are the same schema."""

from collections.abc import Iterator

import pytest

from sidecar.errors import ConfigError
from sidecar.schema_registry.canonical import canonical_protobuf
from sidecar.schema_registry.client import RegistryClient, SchemaRejectedError
from sidecar.schema_registry.settings import ineffective_settings, registry_settings
from tests.support.sinks.fake_registry import FakeRegistry

SCHEMA = """syntax = "proto3";
package a.b;

message Key {
  optional int32 id = 1;
  .a.b.Key.T t = 2 [json_name = "a // b"];
  message T {
  }
}
"""
REFORMATTED = """// formatted by somebody
syntax="proto3";
package a.b;
message Key {
    optional   int32 id=1; /* the
    key */
    .a.b.Key.T t = 2 [json_name="a // b"];
    message T {}
}"""


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry() as registry:
        yield registry


def settings(registry: FakeRegistry, **more: str) -> RegistryClient:
    named = {name.replace("_", "."): value for name, value in more.items()}
    url = {"schema.registry.url": registry.url}
    return RegistryClient(
        registry_settings("value.converter.", {**url, **named}, "value", "PROTOBUF")
    )


def test_canonical_protobuf_ignores_space_and_comments() -> None:
    assert canonical_protobuf(SCHEMA) == canonical_protobuf(REFORMATTED)
    for one, two in (("int32", "int64"), ("id = 1", "id = 3"), ("a // b", "a")):
        assert canonical_protobuf(SCHEMA) != canonical_protobuf(SCHEMA.replace(one, two))
    assert canonical_protobuf("optional int32 a") != canonical_protobuf("optionalint32 a")


def test_registry_client_sends_the_schema_type(registry: FakeRegistry) -> None:
    number = settings(registry).schema_id("s-value", SCHEMA)
    assert registry.answer("GET", f"/schemas/ids/{number}", b"") == (
        200,
        {"schema": SCHEMA, "schemaType": "PROTOBUF"},
    )


def test_latest_protobuf_version_is_used_if_equivalent(registry: FakeRegistry) -> None:
    settings(registry).schema_id("s", REFORMATTED)
    asking = settings(registry, auto_register_schemas="false", use_latest_version="true")
    assert asking.schema_id("s", SCHEMA) == 0
    with pytest.raises(SchemaRejectedError, match="does not match the events"):
        asking.schema_id("s", SCHEMA.replace("id = 1", "id = 4"))


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("optional.for.nullables", "false", "must be `true`"),
        ("wrapper.for.nullables", "true", "must be `false`"),
        ("unknown", "x", "not a known setting of the Protobuf converter"),
        ("schema.registry.url", "", "must be set for the Protobuf converter"),
    ],
)
def test_invalid_protobuf_converter_setting_is_rejected(
    name: str, value: str, problem: str
) -> None:
    found = {"schema.registry.url": "http://r:1", name: value}
    with pytest.raises(ConfigError, match=problem):
        registry_settings("value.converter.", found, "value", "PROTOBUF")


def test_settings_of_the_java_converter_are_accepted() -> None:
    names = {
        "schema.registry.url": "http://r:1",
        "optional.for.nullables": "true",
        "wrapper.for.nullables": "false",
        "enhanced.protobuf.schema.support": "true",
        "auto.register.schemas": "false",
    }
    found = registry_settings("value.converter.", names, "value", "PROTOBUF")
    assert (found.schema_type, found.auto_register) == ("PROTOBUF", False)
    assert ineffective_settings(names, "PROTOBUF") == ["enhanced.protobuf.schema.support"]
    with pytest.raises(ConfigError, match="Avro converter"):
        registry_settings("value.converter.", names, "value")
