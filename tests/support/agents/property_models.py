"""A small model with every kind of property."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import SecretStr, model_validator

from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import ByteSize, CommaList, LowerCase, Milliseconds, UpperCase


class ShopProperties(Properties):
    inert: ClassVar[Mapping[str, str]] = {"max.queue.size": "the window is bounded elsewhere"}
    unsupported: ClassVar[Mapping[str, str]] = {"tracing.enabled": "there is no tracing"}

    topic_prefix: str = prop(
        "topic.prefix", aliases=["kafka.topic.prefix"], doc="First part of a topic.", min_length=1
    )
    port: int = prop("http.port", default=8000, doc="Port.", ge=0, le=65535)
    ratio: float = prop("ratio", default=0.5, doc="Between 0 and 1.", gt=0)
    enabled: bool = prop("enabled", default=True, doc="On | off.")
    hosts: CommaList = prop("hosts", default=("localhost",), doc="Contact points.")
    timeout_ms: Milliseconds = prop("timeout.ms", default=10, doc="How long.")
    size_bytes: ByteSize = prop("size.max.bytes", default=1 << 20, doc="How large.")
    pause_ms: Milliseconds = prop("pause.ms", default=10, doc="At least.", ge=2)
    mode: Annotated[Literal["initial", "never"], LowerCase] = prop(
        "mode", default="never", doc="When.", rejected_values={"initial": "there are no snapshots"}
    )
    level: Annotated[Literal["ONE", "ALL"], UpperCase] = prop("level", default="ONE", doc="Level.")
    folder: Path | None = prop("folder", default=None, doc="Where.")
    password: SecretStr | None = prop("password", default=None, doc="Secret.", secret=True)
    pin: SecretStr = prop("pin", default=SecretStr("0000"), doc="Secret too.", secret=True)
    producer: PassThrough = pass_through("kafka.producer.", doc="The producer's own.")

    @model_validator(mode="after")
    def _enabled_needs_hosts(self) -> "ShopProperties":
        if self.enabled and not self.hosts:
            raise ValueError("`hosts` must name one host when `enabled` is true")
        return self

    def warnings(self) -> tuple[str, ...]:
        return ("`ratio` is large.",) if self.ratio > 1 else ()
