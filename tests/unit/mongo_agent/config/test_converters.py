"""Converters by their names in files for Kafka Connect, and the resulting settings."""

from pathlib import Path

import pytest

from tests.support.mongodb.properties import Settings, load

JSON = "org.apache.kafka.connect.json.JsonConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
REGISTRY: Settings = {"value.converter.schema.registry.url": "http://h:1"}


@pytest.mark.parametrize(
    ("settings", "encoding"),
    [
        ({}, "json"),
        ({"value.converter": "json"}, "json"),
        ({"value.converter": JSON}, "json_with_schema"),
        ({"value.converter": JSON, "value.converter.schemas.enable": "false"}, "json"),
        ({"value.converter": "JSON", "value.converter.schemas.enable": "TRUE"}, "json_with_schema"),
        ({"value.converter.schemas.enable": "true"}, "json_with_schema"),
        ({"value.converter": AVRO, **REGISTRY}, "avro"),
        ({"value.converter": "Avro", **REGISTRY}, "avro"),
    ],
)
def test_converter_selects_the_value_encoding(
    tmp_path: Path, settings: Settings, encoding: str
) -> None:
    properties = load(tmp_path, settings).properties
    assert properties.encoding("value") == encoding
    assert properties.encoding("key") == "json"


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, "none"),
        ({"sanitize.field.names": "true"}, "avro"),
        ({"value.converter": AVRO, **REGISTRY}, "avro"),
        ({"value.converter": AVRO, **REGISTRY, "sanitize.field.names": "false"}, "none"),
        ({"field.name.adjustment.mode": "AVRO_UNICODE"}, "avro_unicode"),
        ({"schema.name.adjustment.mode": "none", "field.name.adjustment.mode": "avro"}, "none"),
    ],
)
def test_schema_name_adjustment_follows_settings(
    tmp_path: Path, settings: Settings, names: str
) -> None:
    assert load(tmp_path, settings).properties.schema_names == names


def test_converter_settings_without_effect_are_reported(tmp_path: Path) -> None:
    names = ("schemas.cache.size", "decimal.format", "replace.null.with.default")
    values = ("10", "NUMERIC", "false")
    settings = {f"value.converter.{name}": value for name, value in zip(names, values, strict=True)}
    warnings = load(tmp_path, {"value.converter": JSON, **settings}).warnings
    assert sorted(warnings) == sorted(
        f"`value.converter.{name}` has no effect here." for name in names
    )
