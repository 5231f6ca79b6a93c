import string
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, model_validator

from sidecar.errors import ConfigError
from sidecar.properties.model import PassThrough, pass_through, prop
from sidecar.properties.types import LowerCase, TopicPrefix
from sidecar.schema_registry.settings import RegistrySettings, registry_settings
from spark_jobs.options.kafka import ProducerOptions
from spark_jobs.options.types import LowerCaseList, require_separate
from spark_jobs.reconcile.options import FollowOptions

TABLE_SINKS: tuple[Literal["delta", "iceberg"], ...] = ("delta", "iceberg")
SINKS = ("kafka", *TABLE_SINKS)
_NAMES = ("prefix", "keyspace", "table")
_SCHEMAS = "schemas.enable"


def _template(value: str) -> str:
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(value) if name is not None}
    except ValueError as error:
        raise ValueError(f"must be a template such as `{{prefix}}.{{table}}`: {error}") from error
    if unknown := sorted(names - set(_NAMES)):
        raise ValueError(
            f"contains `{{{unknown[0]}}}`; use {', '.join(f'`{{{each}}}`' for each in _NAMES)}"
        )
    return value


Template = Annotated[str, AfterValidator(_template)]
"""Text with `{prefix}`, `{keyspace}` and `{table}`."""


class ChangeEventOptions(ProducerOptions):
    """Change events and their targets."""

    sinks: LowerCaseList = prop(
        "sink",
        default=("kafka",),
        doc="Where changes go: `kafka`, `delta` or `iceberg`, or `kafka` and one of the others.",
    )
    prefix: TopicPrefix = prop(
        "topic.prefix",
        min_length=1,
        doc="Logical name of the cluster, for `source.name` and `{prefix}` in templates.",
    )
    topic: Template = prop(
        "topic.template",
        default="{prefix}.{keyspace}.{table}",
        doc="Template for a table's topic, with `{prefix}`, `{keyspace}` and `{table}`.",
    )
    changes_table: Template | None = prop(
        "changes.table",
        default=None,
        doc="Template for the table that stores a table's changes. For `sink=delta`, a folder or "
        "URI, such as `s3a://cdc/changes/{keyspace}/{table}`. For `sink=iceberg`, a name with its "
        "catalog, such as `lake.changes.{keyspace}.{table}`.",
    )
    converter: Annotated[Literal["json", "avro"], LowerCase] = prop(
        "converter", default="json", doc="Format of keys and values: `json` or `avro`."
    )
    converter_settings: PassThrough = pass_through(
        "converter.",
        doc="Settings of the converter. `json`: `schemas.enable` (default `false`). `avro`: the "
        "settings of Confluent's `AvroConverter`, such as `schema.registry.url`.",
    )
    tombstones: Annotated[Literal["true", "false", "compacted"], LowerCase] = prop(
        "tombstones.on.delete",
        default="true",
        doc="Whether a message without a value follows each deletion, so that a compacted topic "
        "drops the key. `compacted`: only if the topic's `cleanup.policy` contains `compact`.",
    )
    snapshot_mode: Annotated[Literal["initial", "never"], LowerCase] = prop(
        "snapshot.mode",
        default="initial",
        doc="What the first run publishes. `initial`: the existing rows, with operation `r`. "
        "`never`: only later changes.",
    )

    @property
    def has_schemas(self) -> bool:
        return self.converter_settings.get(_SCHEMAS, "false").lower() == "true"

    @property
    def has_tombstones(self) -> bool | None:
        """Whether a tombstone follows each deletion. None means only in compacted topics."""
        return None if self.tombstones == "compacted" else self.tombstones == "true"

    def registries(self) -> dict[Literal["key", "value"], RegistrySettings]:
        """The registry settings for keys and values. Raises `ConfigError`."""
        sides: tuple[Literal["key", "value"], ...] = ("key", "value")
        return {
            side: registry_settings("converter.", self._registry_settings(side), side)
            for side in sides
        }

    def _registry_settings(self, side: str) -> dict[str, str]:
        """The settings without the other side's subject name strategy."""
        strategy = ".subject.name.strategy"
        return {
            name: value
            for name, value in self.converter_settings.items()
            if not name.endswith(strategy) or name == f"{side}{strategy}"
        }

    def topic_of(self, keyspace: str, table: str) -> str:
        return self.topic.format(prefix=self.prefix, keyspace=keyspace, table=table)

    @property
    def table_sink(self) -> Literal["delta", "iceberg"] | None:
        """The format of the tables of changes; None if changes go only to Kafka."""
        return next((sink for sink in TABLE_SINKS if sink in self.sinks), None)

    def changes_table_of(self, keyspace: str, table: str) -> str:
        assert self.changes_table is not None
        return self.changes_table.format(prefix=self.prefix, keyspace=keyspace, table=table)

    @model_validator(mode="after")
    def _sinks_are_complete(self) -> "ChangeEventOptions":
        if not self.sinks or set(self.sinks) - set(SINKS):
            raise ValueError(f"`sink` must be one or two of {', '.join(SINKS)}")
        if set(TABLE_SINKS) <= set(self.sinks):
            raise ValueError("`sink` must contain only one of `delta` and `iceberg`")
        if (self.table_sink is None) != (self.changes_table is None):
            raise ValueError(
                "`changes.table` must be set for `sink=delta` and `sink=iceberg`, and only then"
            )
        if self.changes_table is not None and "{table}" not in self.changes_table:
            raise ValueError(
                "`changes.table` must contain `{table}`, because tables have different columns"
            )
        if self.table_sink == "iceberg" and "." not in (self.changes_table or ""):
            raise ValueError("`changes.table` must begin with a catalog, such as `lake.{table}`")
        return self

    @model_validator(mode="after")
    def _converter_is_valid(self) -> "ChangeEventOptions":
        if self.converter == "avro":
            try:
                self.registries()
            except ConfigError as error:
                raise ValueError(str(error)) from error
            return self
        if unknown := sorted(set(self.converter_settings) - {_SCHEMAS}):
            raise ValueError(f"`converter.{unknown[0]}` is not a setting of `converter=json`")
        value = self.converter_settings.get(_SCHEMAS, "false")
        if value.lower() not in ("true", "false"):
            raise ValueError(f"`converter.{_SCHEMAS}` must be `true` or `false`, not `{value}`")
        return self


# A pydantic model orders its fields by its bases, from the last to the first.
class ChangesJobOptions(ChangeEventOptions, FollowOptions):
    job: ClassVar[str] = "changes"

    @model_validator(mode="after")
    def _tables_are_separate(self) -> "ChangesJobOptions":
        table = self.changes_table if self.table_sink == "delta" else None
        for name, folder in (("checkpoint", self.checkpoint), ("output", self.output)):
            require_separate(name, folder, {"changes.table": table})
        return self

    @model_validator(mode="after")
    def _has_a_broker(self) -> "ChangesJobOptions":
        if "kafka" in self.sinks and "kafka.bootstrap.servers" not in self.producer_settings():
            raise ValueError(
                "`kafka.bootstrap.servers` or `sink.kafka.bootstrap.servers` must be set"
            )
        return self

    def fixed(self) -> dict[str, str]:
        """Options that must not change while a checkpoint is in use."""
        options = {
            "output": self.output,
            "topic.prefix": self.prefix,
            "topic.template": self.topic,
            "sink": ",".join(sorted(self.sinks)),
            "changes.table": self.changes_table,
        }
        return {name: value for name, value in options.items() if value is not None}
