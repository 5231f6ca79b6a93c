"""How keys and values are written: converters, values, names, columns that are left out."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator

from sidecar.properties import CommaList, LowerCase, PassThrough, Properties, pass_through, prop
from sidecar.schema_registry import RegistrySettings, registry_settings
from sidecar.schema_registry.settings import problems_of, without_effect

Encoding = Literal["json", "avro"]
Names = Literal["none", "avro", "avro_unicode"]

_CONVERTERS: dict[str, Encoding] = {
    "org.apache.kafka.connect.json.JsonConverter": "json",
    "io.confluent.connect.avro.AvroConverter": "avro",
    "json": "json",
    "avro": "avro",
}
_SHOWN = "`json`, `avro`, or the classes JsonConverter and AvroConverter under their full names"


def _converter_name(value: Any) -> Any:
    if not isinstance(value, str) or not value.strip():
        return None
    name = value.strip()
    found = _CONVERTERS.get(name) or _CONVERTERS.get(name.lower())
    if found is None:
        raise ValueError(f"is `{name}`, which is not here: it must be {_SHOWN}")
    return found


def _columns(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        parts = value.split(".")
        if len(parts) != 3 or not all(parts):
            raise ValueError(f"holds `{value}`: each must be `keyspace.table.column`")
    return values


Converter = Annotated[Encoding | None, BeforeValidator(_converter_name)]


def _converter(side: str) -> Any:
    return prop(
        f"{side}.converter",
        default=None,
        doc="`json` (or `org.apache.kafka.connect.json.JsonConverter` with "
        f"`{side}.converter.schemas.enable=false`), or `avro` (or "
        "`io.confluent.connect.avro.AvroConverter`). Not set: JSON.",
    )


def _converter_settings(side: str) -> Any:
    return pass_through(
        f"{side}.converter.",
        doc="Settings of that converter. Avro: `schema.registry.url` and what else docs/avro.md "
        "names.",
    )


class EncodingProperties(Properties):
    """How keys and values are written."""

    key_converter: Converter = _converter("key")
    key_converter_settings: PassThrough = _converter_settings("key")
    value_converter: Converter = _converter("value")
    value_converter_settings: PassThrough = _converter_settings("value")
    decimal_handling_mode: Annotated[Literal["double", "precise", "string"], LowerCase] = prop(
        "decimal.handling.mode",
        default="double",
        doc="How decimals are sent: the nearest `double`; `precise`, scale and unscaled bytes; "
        "`string`, digits. `cells` carries them exactly in every mode.",
    )
    varint_handling_mode: Annotated[Literal["long", "precise", "string"], LowerCase] = prop(
        "varint.handling.mode",
        default="long",
        doc="How varints are sent: their low 64 bits as a `long`; `precise`, bytes; `string`, "
        "digits. `cells` carries them exactly in every mode.",
    )
    duration_handling_mode: Annotated[Literal["nanos", "precise", "string"], LowerCase] = prop(
        "duration.handling.mode",
        default="nanos",
        doc="How durations are sent: `nanos`, nanoseconds with a month as 30 days, as Debezium "
        "does; `precise`, months, days and nanoseconds; `string`, `1mo2d3h`.",
    )
    field_exclude_list: Annotated[CommaList, AfterValidator(_columns)] = prop(
        "field.exclude.list",
        aliases=["column.exclude.list", "field.blacklist"],
        default=(),
        doc="Columns to leave out of `after` and `cells`, each `keyspace.table.column`. Columns of "
        "the primary key are never left out.",
    )
    field_name_adjustment_mode: Annotated[Names | None, LowerCase] = prop(
        "field.name.adjustment.mode",
        default=None,
        doc="What becomes of names that Avro does not take: `none`, they stay; `avro`, an "
        "underscore for each such character; `avro_unicode`, `_uXXXX`. Not set: `avro` if "
        "`sanitize.field.names` or a converter asks for it, else `none`. Avro itself never has "
        "names that it does not take.",
    )
    sanitize_field_names: bool | None = prop(
        "sanitize.field.names",
        default=None,
        doc="The older name of `field.name.adjustment.mode=avro`. Not set: `true` if a converter "
        "is Avro, else `false`.",
    )

    @property
    def key_encoding(self) -> Encoding:
        return self.key_converter or "json"

    @property
    def value_encoding(self) -> Encoding:
        return self.value_converter or "json"

    @property
    def names(self) -> Names:
        """What becomes of names that Avro does not take."""
        if self.field_name_adjustment_mode is not None:
            return self.field_name_adjustment_mode
        is_avro = "avro" in (self.key_encoding, self.value_encoding)
        sanitizes = is_avro if self.sanitize_field_names is None else self.sanitize_field_names
        return "avro" if sanitizes else "none"

    @property
    def excluded_columns(self) -> tuple[tuple[str, str, str], ...]:
        """Keyspace, table and column of what is left out."""
        parts = (column.split(".") for column in self.field_exclude_list)
        return tuple((keyspace, table, column) for keyspace, table, column in parts)

    def registries(self) -> dict[Literal["key", "value"], RegistrySettings]:
        """The registry of each side that is Avro. Raises ConfigError."""
        return {
            side: registry_settings(f"{side}.converter.", settings, side)
            for side, encoding, settings in self._sides()
            if encoding == "avro"
        }

    def converter_problems(self) -> Iterator[str]:
        """What is wrong with the settings of converters."""
        for side, encoding, settings in self._sides():
            if encoding == "avro":
                yield from problems_of(f"{side}.converter.", settings, side)
                continue
            # JsonConverter wraps each message in its schema unless it is told not to.
            converter = self.key_converter if side == "key" else self.value_converter
            wanted = settings.get("schemas.enable", "true" if converter else "false")
            if wanted.strip().lower() != "false":
                yield (
                    f"`{side}.converter.schemas.enable` must be false: this release writes JSON "
                    "without a schema in every message."
                )

    def converter_warnings(self) -> Iterator[str]:
        """Settings of converters that change nothing."""
        for side, encoding, settings in self._sides():
            if encoding == "avro":
                for name in without_effect(settings):
                    yield f"`{side}.converter.{name}` has no effect here."

    def _sides(self) -> Iterator[tuple[Literal["key", "value"], Encoding, PassThrough]]:
        yield "key", self.key_encoding, self.key_converter_settings
        yield "value", self.value_encoding, self.value_converter_settings
