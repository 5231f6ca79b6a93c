"""What keys and values are written as, and what is done about a schema that is refused."""

from collections.abc import Iterator
from typing import Annotated, Literal

from sidecar.config.converters import ConverterProperties
from sidecar.properties import LowerCase, Milliseconds, prop

Names = Literal["none", "avro", "avro_unicode"]

# There are no decimals in an event.
_WITHOUT_EFFECT = "decimal.format"


class EncodingProperties(ConverterProperties):
    """What keys and values are written as."""

    schema_name_adjustment_mode: Annotated[Names | None, LowerCase] = prop(
        "schema.name.adjustment.mode",
        default=None,
        doc="What becomes of letters in the names of schemas, which are those of topics, that Avro "
        "does not take: `none`, they stay; `avro`, an underscore for each; `avro_unicode`, "
        "`_uXXXX`. Not set: `avro` if `sanitize.field.names`, `field.name.adjustment.mode` or a "
        "converter asks for it, else `none`. Avro itself never has names that it does not take.",
    )
    field_name_adjustment_mode: Annotated[Names | None, LowerCase] = prop(
        "field.name.adjustment.mode",
        default=None,
        doc="The same for names of fields. Those of documents are inside of text and stay; so it "
        "only stands for `schema.name.adjustment.mode` where that is not set.",
    )
    sanitize_field_names: bool | None = prop(
        "sanitize.field.names",
        default=None,
        doc="The older name of `field.name.adjustment.mode=avro`. Not set: `true` if a converter "
        "is Avro, else `false`.",
    )
    schema_hold_max_ms: Milliseconds = prop(
        "schema.hold.max.ms",
        default=600_000,
        doc="How long a stream waits for a schema that the registry refuses, which somebody may "
        "register or allow. Then events that have it go to the quarantine, until it is taken. A "
        "registry that is away is waited for without end.",
    )

    @property
    def schema_names(self) -> Names:
        """What becomes of letters that Avro does not take."""
        for mode in (self.schema_name_adjustment_mode, self.field_name_adjustment_mode):
            if mode is not None:
                return mode
        is_avro = self.uses_avro
        sanitizes = is_avro if self.sanitize_field_names is None else self.sanitize_field_names
        return "avro" if sanitizes else "none"

    def converter_warnings(self) -> Iterator[str]:
        """Settings of converters that change nothing."""
        yield from super().converter_warnings()
        for side, settings in (
            ("key", self.key_converter_settings),
            ("value", self.value_converter_settings),
        ):
            if _WITHOUT_EFFECT in settings:
                yield f"`{side}.converter.{_WITHOUT_EFFECT}` has no effect here."
