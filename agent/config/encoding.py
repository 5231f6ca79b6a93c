"""Properties of the encoding: converters, value formats, names, omitted columns."""

from typing import Annotated, Literal

from pydantic import BeforeValidator

from agent.config.lists import column_entries, column_parts
from sidecar.config.converters import (
    ALL_CONVERTERS,
    PROTOBUF_CONVERTER,
    STRING_CONVERTER,
    ConverterProperties,
    Side,
    converter,
    converter_names,
)
from sidecar.properties.model import prop
from sidecar.properties.types import LowerCase, Unit

Written = Literal["json", "json_with_schema", "avro", "protobuf", "string"]
Converter = Annotated[str | None, BeforeValidator(converter_names(ALL_CONVERTERS))]
_MORE = f"; `protobuf` or `{PROTOBUF_CONVERTER}`; `string` or `{STRING_CONVERTER}`"


ColumnList = Annotated[
    tuple[str, ...], BeforeValidator(column_entries), Unit("list, separated by commas")
]


class EncodingProperties(ConverterProperties):
    key_converter: Converter = converter("key", _MORE)
    value_converter: Converter = converter("value", _MORE)
    decimal_handling_mode: Annotated[Literal["double", "precise", "string"], LowerCase] = prop(
        "decimal.handling.mode",
        default="double",
        doc="Format of decimals. `double`: the nearest double. `precise`: scale and unscaled "
        "bytes. `string`: digits. `cells` contains the exact value in every mode.",
    )
    varint_handling_mode: Annotated[Literal["long", "precise", "string"], LowerCase] = prop(
        "varint.handling.mode",
        default="long",
        doc="Format of varints. `long`: the low 64 bits. `precise`: bytes. `string`: digits. "
        "`cells` contains the exact value in every mode.",
    )
    duration_handling_mode: Annotated[Literal["nanos", "precise", "string"], LowerCase] = prop(
        "duration.handling.mode",
        default="nanos",
        doc="Format of durations. `nanos`: nanoseconds, with 30 days per month, as in Debezium. "
        "`precise`: months, days and nanoseconds. `string`: `1mo2d3h`.",
    )
    field_exclude_list: ColumnList = prop(
        "field.exclude.list",
        aliases=["column.exclude.list", "field.blacklist"],
        default=(),
        doc="Columns to omit from `after` and `cells`, as `keyspace.table.column`. Columns of "
        "the primary key are always included. Put a name with dots or commas in double quotes, as "
        'in CQL: `shop.orders."net.price"`.',
    )

    @property
    def excluded_columns(self) -> tuple[tuple[str, str, str], ...]:
        """Keyspace, table and column of each omitted column."""
        return tuple(map(column_parts, self.field_exclude_list))

    def written(self, side: Side) -> Written:
        """Returns the encoding of keys or values. `converter_problems` must be empty."""
        if self.is_text(side):
            return "string"
        if self.is_protobuf(side):
            return "protobuf"
        return self.encoding(side)

    def decimals(self, side: Side) -> Literal["base64", "numeric"]:
        """Returns the format of Connect's decimals in JSON keys or values."""
        if self.written(side) not in ("json", "json_with_schema"):
            return "base64"
        has_digits = self.json_settings(side).decimal_format == "NUMERIC"
        return "numeric" if has_digits else "base64"
