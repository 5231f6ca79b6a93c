"""What properties files that were written for Kafka Connect hold, where there is no Connect.

Such files are taken as they are: a value that asks for what is here is accepted, one that asks for
something else is refused with a reason, and what changes nothing gives a warning.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator

from sidecar.properties import PassThrough, Properties, pass_through, prop

_JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_NO_CONNECT = "there is no Kafka Connect here."

INERT: Mapping[str, str] = {
    "connector.class": _NO_CONNECT,
    "name": _NO_CONNECT,
    "tasks.max": _NO_CONNECT,
    "converters": "there are no custom converters.",
    "custom.metric.tags": "add labels where metrics are scraped.",
    "custom.sanitize.pattern": "there are no custom metric tags.",
    "extended.headers.enabled": "the headers are those of docs/event-format.md.",
    "field.name.adjustment.mode": "JSON takes every name.",
    "schema.name.adjustment.mode": "JSON here has no schema.",
    "topic.cache.size": "no cache is needed.",
}
"""Names that every connector of Debezium has and that mean nothing here."""


def _json_alone(value: str | None) -> str | None:
    if value is None or value.strip() in (_JSON_CONVERTER, ""):
        return value
    raise ValueError(f"must be `{_JSON_CONVERTER}`, since this release writes JSON alone")


Converter = Annotated[str | None, AfterValidator(_json_alone)]


def _converter(side: str) -> Any:
    return prop(
        f"{side}.converter",
        default=None,
        doc=f"`{_JSON_CONVERTER}` with `{side}.converter.schemas.enable=false`, which is what is "
        "written without it too.",
    )


def _converter_settings(side: str) -> Any:
    return pass_through(f"{side}.converter.", doc="Settings of that converter.")


class ConverterProperties(Properties):
    """Converters of Kafka Connect, as far as they say what is written anyway."""

    key_converter: Converter = _converter("key")
    key_converter_settings: PassThrough = _converter_settings("key")
    value_converter: Converter = _converter("value")
    value_converter_settings: PassThrough = _converter_settings("value")

    def converter_problems(self) -> Iterator[str]:
        """JsonConverter wraps each message in its schema unless it is told not to."""
        for side, converter, settings in (
            ("key", self.key_converter, self.key_converter_settings),
            ("value", self.value_converter, self.value_converter_settings),
        ):
            wanted = settings.get("schemas.enable", "true" if converter else "false")
            if wanted.strip().lower() != "false":
                yield (
                    f"`{side}.converter.schemas.enable` must be false: this release writes JSON "
                    "without a schema in every message."
                )


def unused(properties: Properties, prefixes: Mapping[str, str]) -> list[str]:
    """A sentence for each prefix under which something is set; `prefixes` are by field."""
    return [
        f"`{prefix}*` has no effect here."
        for field_name, prefix in prefixes.items()
        if getattr(properties, field_name)
    ]
