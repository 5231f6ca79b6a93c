"""What keys and values are written as."""

from collections.abc import Iterator

from sidecar.converters import ConverterProperties


class EncodingProperties(ConverterProperties):
    """What keys and values are written as."""

    def converter_problems(self) -> Iterator[str]:
        """What is wrong with converters, a sentence each."""
        problems = tuple(super().converter_problems())
        yield from problems
        if problems:
            return
        for side, encoding in (("key", self.key_encoding), ("value", self.value_encoding)):
            if encoding != "json":
                yield (
                    f"`{side}.converter` with `{side}.converter.schemas.enable` must mean JSON "
                    "without a schema, which alone this release writes."
                )
