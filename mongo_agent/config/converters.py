"""Properties for encoding keys and values."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from mongo_agent.config.values import optional, settings_under
from sidecar.config.converters import (
    AVRO_CONVERTER,
    JSON_CONVERTER,
    JSON_WITHOUT_EFFECT,
    STRING_CONVERTER,
    ConverterProperties,
    JsonSettings,
    Names,
    Side,
    converter,
    converter_names,
    json_settings,
)
from sidecar.properties.model import prop
from sidecar.properties.types import LowerCase, Milliseconds

OutboxConverter = Literal["encoding", "string", "bytes", "binary"]
"""How to write outbox keys or payloads; `encoding` means as in other messages."""
BYTES_CONVERTER = "org.apache.kafka.connect.converters.ByteArrayConverter"
BINARY_CONVERTER = "io.debezium.converters.BinaryDataConverter"
_OF_OUTBOX: tuple[OutboxConverter, ...] = ("string", "bytes", "binary")
_NAMES: Mapping[str, str] = {
    "json": JSON_CONVERTER,
    "avro": AVRO_CONVERTER,
    "string": STRING_CONVERTER,
    "bytes": BYTES_CONVERTER,
    "binary": BINARY_CONVERTER,
}
_DELEGATE = "delegate.converter.type"
SIDES: tuple[Side, ...] = ("key", "value")
Converter = Annotated[str | None, BeforeValidator(converter_names(_NAMES))]


def _converter(side: Side) -> Any:
    names = [f"`{name}` or `{_NAMES[name]}`" for name in _OF_OUTBOX]
    return converter(side, f"; only for an outbox, {', '.join(names)}")


class EncodingProperties(ConverterProperties):
    """Converters, and handling of rejected schemas."""

    key_converter: Converter = _converter("key")
    value_converter: Converter = _converter("value")

    # Events contain no decimals.
    json_without_effect: ClassVar[frozenset[str]] = JSON_WITHOUT_EFFECT | {"decimal.format"}

    schema_name_adjustment_mode: Annotated[Names | None, LowerCase] = optional(
        "schema.name.adjustment.mode",
        doc="Replacement for characters in schema names that Avro rejects: `none` keeps them, "
        "`avro` writes `_`, `avro_unicode` writes `_uXXXX`. Defaults to "
        "`field.name.adjustment.mode`, which has no other effect: document fields are text inside "
        "a value and stay unchanged. Avro schemas never contain such characters.",
    )
    schema_blocked_timeout_ms: Milliseconds = prop(
        "schema.blocked.timeout.ms",
        default=600_000,
        doc="Longest time that a stream waits for a schema that the registry rejects. Then the "
        "agent quarantines the events of this schema until the registry accepts it. The agent "
        "waits for an unavailable registry without a limit.",
    )

    @property
    def schema_names(self) -> Names:
        """The replacement for characters that Avro rejects."""
        return self.schema_name_adjustment_mode or self.names

    def outbox_converter(self, side: Side) -> OutboxConverter:
        """Return the converter for outbox keys or payloads; other messages then use JSON."""
        name, _ = self._side(side)
        found = (each for each in _OF_OUTBOX if name in (each, _NAMES[each]))
        return next(found, "encoding")

    def json_settings(self, side: Side) -> JsonSettings:
        match self.outbox_converter(side):
            case "encoding":
                return super().json_settings(side)
            case "binary":
                _, settings = self._side(side)
                prefix = f"{_DELEGATE}."
                own = settings_under(prefix, settings)
                has_schemas = _DELEGATE in settings
                return json_settings(f"{side}.converter.{prefix}", own, has_schemas=has_schemas)
            case _:
                return JsonSettings()

    def converter_problems(self) -> Iterator[str]:
        yield from super().converter_problems()
        for side in SIDES:
            kind = self.outbox_converter(side)
            if kind not in ("bytes", "binary"):
                continue
            _, settings = self._side(side)
            for name, value in sorted(settings.items()):
                full = f"`{side}.converter.{name}`"
                is_delegate = kind == "binary" and name.startswith(_DELEGATE)
                if not is_delegate and name != "converter.type":
                    class_name = _NAMES[kind].rpartition(".")[2]
                    yield f"{full} is not a setting of {class_name}. Remove it."
                elif is_delegate and name == _DELEGATE and value.strip() != JSON_CONVERTER:
                    yield f"{full} must be `{JSON_CONVERTER}`, not `{value}`."
