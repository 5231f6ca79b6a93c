"""Key and value converters, under Kafka Connect's names, with their settings.

json                            JSON without a schema
org.…JsonConverter              JSON with its schema, unless `schemas.enable=false`
avro, io.…AvroConverter         the schema id of a registry, then Avro
protobuf, io.…ProtobufConverter the schema id, then Protobuf, if the agent supports it
string, org.…StringConverter    the text of a Java object, if the agent supports it
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from sidecar.errors import ConfigError
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import LowerCase
from sidecar.schema_registry.settings import (
    RegistrySettings,
    SchemaType,
    SettingsReader,
    ineffective_settings,
    registry_settings,
)

Side = Literal["key", "value"]
Encoding = Literal["json", "json_with_schema", "avro"]
Names = Literal["none", "avro", "avro_unicode"]

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
AVRO_CONVERTER = "io.confluent.connect.avro.AvroConverter"
PROTOBUF_CONVERTER = "io.confluent.connect.protobuf.ProtobufConverter"
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"
_WITHOUT_TEXT = {"json": JSON_CONVERTER, "avro": AVRO_CONVERTER}
ALL_CONVERTERS: Mapping[str, str] = {
    **_WITHOUT_TEXT,
    "protobuf": PROTOBUF_CONVERTER,
    "string": STRING_CONVERTER,
}
"""Class names of converters by their short names."""
_ENCODING = "converter.encoding"
_DECIMALS = ("BASE64", "NUMERIC")
_REPLACES_NULLS = "replace.null.with.default"
# Settings for caches and sink connectors, which the agent ignores.
_OF_READERS = frozenset({"converter.type", "schema.content", "schemas.cache.size"})
# Replacing nulls has no effect, because no nullable field has a default.
JSON_WITHOUT_EFFECT = _OF_READERS | {_REPLACES_NULLS}


@dataclass(frozen=True, slots=True)
class JsonSettings:
    """Settings of Connect's `JsonConverter`."""

    has_schemas: bool = False
    decimal_format: Literal["BASE64", "NUMERIC"] = "BASE64"


def json_settings(prefix: str, settings: Mapping[str, str], *, has_schemas: bool) -> JsonSettings:
    """Parse settings under `prefix`, such as `value.converter.`; `has_schemas` is the default.

    Raises ConfigError with all mistakes.
    """
    reader = SettingsReader(prefix, settings)
    reader.reject_unknown({"schemas.enable", "decimal.format"} | JSON_WITHOUT_EFFECT, "JSON")
    decimals = reader.settings.get("decimal.format", "BASE64").upper()
    if decimals not in _DECIMALS:
        reader.reject("decimal.format", f"must be {' or '.join(_DECIMALS)}, not `{decimals}`")
    reader.flag(_REPLACES_NULLS, True)
    found = JsonSettings(
        has_schemas=reader.flag("schemas.enable", has_schemas),
        decimal_format="NUMERIC" if decimals == "NUMERIC" else "BASE64",
    )
    reader.raise_problems()
    return found


_OTHERS: Mapping[str, tuple[str, str]] = {
    "com.blueapron.connect.protobuf.ProtobufConverter": (
        "needs a Java class for each topic; with a schema registry, use ",
        "protobuf",
    ),
    "io.confluent.connect.json.JsonSchemaConverter": ("is not supported; use ", "avro"),
}
"""Converters of other programs: the reason against each, and the short name of a replacement."""


def converter_names(known: Mapping[str, str]) -> Callable[[Any], Any]:
    """Create a validator for converter names. `known` maps lower-case short names to classes."""
    classes = [name.rpartition(".")[2] for name in known.values()]
    shown = (
        f"{', '.join(f'`{name}`' for name in known)}, or the classes "
        f"{', '.join(classes[:-1])} and {classes[-1]} under their full names"
    )

    def name_of(value: Any) -> Any:
        if not isinstance(value, str) or not value.strip():
            return None
        name = value.strip()
        if name in known.values():
            return name
        if name.lower() in known:
            return name.lower()
        reason, replacement = _OTHERS.get(name, ("", ""))
        if replacement in known:
            raise ValueError(f"is `{name}`, which {reason}`{replacement}` (`{known[replacement]}`)")
        raise ValueError(f"must be {shown}, not `{name}`")

    return name_of


def string_problems(prefix: str, settings: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each mistake in the settings of Connect's `StringConverter`."""
    for name, value in sorted(settings.items()):
        if name not in (_ENCODING, "converter.type"):
            yield f"`{prefix}{name}` is not a setting of StringConverter; use `{_ENCODING}`."
        elif name == _ENCODING and value.strip().upper() not in ("UTF8", "UTF-8"):
            yield f"`{prefix}{name}` must be UTF-8, not `{value}`."


Converter = Annotated[str | None, BeforeValidator(converter_names(_WITHOUT_TEXT))]


def converter(side: Side, more: str = "") -> Any:
    """Declare the converter property of a side; `more` documents further converters."""
    return prop(
        f"{side}.converter",
        default=None,
        doc=f"Converter of {side}s: `json`; `{JSON_CONVERTER}`, which adds the schema to each "
        "message "
        f"unless `{side}.converter.schemas.enable=false`; `avro` or `{AVRO_CONVERTER}`{more}. "
        "Defaults to `json`.",
    )


def _converter_settings(side: Side) -> Any:
    return pass_through(
        f"{side}.converter.",
        doc=f"Settings of the {side} converter. JSON: `schemas.enable`, `decimal.format`, "
        "`replace.null.with.default`. With a schema registry: `schema.registry.url` and the "
        "settings in docs/reference/avro.md.",
    )


class ConverterProperties(Properties):
    json_without_effect: ClassVar[frozenset[str]] = JSON_WITHOUT_EFFECT

    key_converter: Converter = converter("key")
    key_converter_settings: PassThrough = _converter_settings("key")
    value_converter: Converter = converter("value")
    value_converter_settings: PassThrough = _converter_settings("value")
    field_name_adjustment_mode: Annotated[Names | None, LowerCase] = prop(
        "field.name.adjustment.mode",
        default=None,
        doc="Replacement for characters that Avro does not allow in names. `none`: unchanged. "
        "`avro`: an underscore. `avro_unicode`: `_uXXXX`. Defaults to `avro` if "
        "`sanitize.field.names` is `true`, else `none`. The Avro converter always replaces such "
        "characters.",
    )
    sanitize_field_names: bool | None = prop(
        "sanitize.field.names",
        default=None,
        doc="`true` is the older form of `field.name.adjustment.mode=avro`. Defaults to `true` if "
        "a converter is Avro, else `false`.",
    )

    @property
    def names(self) -> Names:
        """Replacement for characters that Avro does not allow in names."""
        if self.field_name_adjustment_mode is not None:
            return self.field_name_adjustment_mode
        is_avro = self.uses_avro
        sanitizes = is_avro if self.sanitize_field_names is None else self.sanitize_field_names
        return "avro" if sanitizes else "none"

    def encoding(self, side: Side) -> Encoding:
        """Return the encoding of a side. Defined only if `converter_problems` is empty."""
        if self._kind(side) == "avro":
            return "avro"
        return "json_with_schema" if self.json_settings(side).has_schemas else "json"

    @property
    def uses_avro(self) -> bool:
        return "avro" in map(self._kind, _SIDES)

    def is_protobuf(self, side: Side) -> bool:
        """Whether a side uses the Protobuf converter, so that no `Encoding` applies."""
        return self._kind(side) == "protobuf"

    def is_text(self, side: Side) -> bool:
        """Whether a side uses `StringConverter`, so that no `Encoding` applies."""
        return self._kind(side) == "string"

    def json_settings(self, side: Side) -> JsonSettings:
        """Parse the settings of a JSON side. Raises ConfigError."""
        converter, settings = self._side(side)
        # JsonConverter adds the schema by default.
        is_class = converter == JSON_CONVERTER
        return json_settings(f"{side}.converter.", settings, has_schemas=is_class)

    def registries(self) -> dict[Side, RegistrySettings]:
        """Parse the registry settings of each Avro or Protobuf side. Raises ConfigError."""
        found: dict[Side, RegistrySettings] = {}
        for side, schema_type, settings in self._typed_sides():
            if schema_type is not None:
                found[side] = registry_settings(f"{side}.converter.", settings, side, schema_type)
        return found

    def converter_problems(self) -> Iterator[str]:
        for side, schema_type, settings in self._typed_sides():
            if self.is_text(side):
                yield from string_problems(f"{side}.converter.", settings)
                continue
            try:
                if schema_type is not None:
                    registry_settings(f"{side}.converter.", settings, side, schema_type)
                else:
                    self.json_settings(side)
            except ConfigError as error:
                yield from error.problems

    def converter_warnings(self) -> Iterator[str]:
        """Yield a warning for each converter setting without effect."""
        for side, schema_type, settings in self._typed_sides():
            if self.is_text(side):
                continue
            if schema_type is None:
                unused = sorted(settings.keys() & self.json_without_effect)
            else:
                unused = ineffective_settings(settings, schema_type)
            for name in unused:
                yield f"`{side}.converter.{name}` has no effect here."

    def _side(self, side: Side) -> tuple[str | None, Mapping[str, str]]:
        if side == "key":
            return self.key_converter, self.key_converter_settings
        return self.value_converter, self.value_converter_settings

    def _typed_sides(self) -> Iterator[tuple[Side, SchemaType | None, Mapping[str, str]]]:
        """Yield both sides with their settings, and their type of schema if they use a registry."""
        for side in _SIDES:
            yield side, _SCHEMA_TYPES.get(self._kind(side)), self._side(side)[1]

    def _kind(self, side: Side) -> str:
        """Return the short name of a side's converter."""
        converter, _ = self._side(side)
        return next((k for k, name in ALL_CONVERTERS.items() if converter in (k, name)), "json")


_SIDES: tuple[Side, ...] = ("key", "value")
_SCHEMA_TYPES: Mapping[str, SchemaType] = {"avro": "AVRO", "protobuf": "PROTOBUF"}
"""Schema types of the converters that use a schema registry."""
