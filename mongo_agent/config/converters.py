"""Properties of the encoding of keys and values."""

from typing import Annotated, ClassVar

from sidecar.config.converters import JSON_WITHOUT_EFFECT, ConverterProperties, Names
from sidecar.properties.model import prop
from sidecar.properties.types import LowerCase, Milliseconds


class EncodingProperties(ConverterProperties):
    """Converters, and handling of rejected schemas."""

    # Events contain no decimals.
    json_without_effect: ClassVar[frozenset[str]] = JSON_WITHOUT_EFFECT | {"decimal.format"}

    schema_name_adjustment_mode: Annotated[Names | None, LowerCase] = prop(
        "schema.name.adjustment.mode",
        default=None,
        doc="Replacement for characters in schema names that Avro rejects: `none` keeps them, "
        "`avro` writes `_`, `avro_unicode` writes `_uXXXX`. Not set: the value of "
        "`field.name.adjustment.mode`, which has no other effect: document fields are text inside "
        "a value and stay unchanged. Schemas in Avro never contain such characters.",
    )
    schema_blocked_timeout_ms: Milliseconds = prop(
        "schema.blocked.timeout.ms",
        deprecated=["schema.hold.max.ms"],
        default=600_000,
        doc="Time for which a stream waits for a schema that the registry rejects. Afterwards the "
        "agent quarantines the events of this schema until the registry accepts it. The agent "
        "waits for an unavailable registry without a limit.",
    )

    @property
    def schema_names(self) -> Names:
        """The replacement for characters that Avro rejects."""
        return self.schema_name_adjustment_mode or self.names
