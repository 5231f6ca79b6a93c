"""Options of the job and its commands."""

from typing import Annotated, ClassVar, Literal

from pydantic import model_validator

from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import LowerCase
from spark_jobs.options.job import SessionOptions
from spark_jobs.options.types import Count, Seconds, TableList, require_separate
from spark_jobs.reconcile.options import FollowOptions

_WEEK_S = 7 * 86_400


TableFormat = Annotated[Literal["delta", "iceberg"], LowerCase]


class TargetOptions(Properties):
    """Format and location of the typed tables, and the layout of new tables."""

    format: TableFormat = prop(
        "format", default="delta", doc="Format of the typed tables: `delta` or `iceberg`."
    )
    target: str = prop(
        "target",
        min_length=1,
        doc="Location of the typed tables. With `format=delta`, a folder or URI; the table "
        "`shop.orders` is in its subfolder `shop/orders`. With `format=iceberg`, a catalog, or a "
        "catalog and namespaces, such as `lake.raw`; the table is `lake.raw.shop.orders`. "
        "`spark.sql.catalog.*` settings configure the catalog.",
    )
    iceberg_format_version: Literal["2", "3"] = prop(
        "iceberg.format.version",
        default="2",
        doc="Format version of new Iceberg tables. Version 3 stores deleted rows as deletion "
        "vectors, but fewer engines read it.",
    )
    iceberg_deletes: Annotated[Literal["position", "equality"], LowerCase] = prop(
        "iceberg.deletes",
        default="position",
        doc="How Iceberg tables delete rows. `position` searches the whole table for them. "
        "`equality` writes their ids, at a cost that does not grow with the table; reads are "
        "slower until `compact`, and the table cannot have partitions.",
    )
    partition_by: PassThrough = pass_through(
        "partition.by.",
        doc="Partitioning of a new table, by `partition.by.KEYSPACE.TABLE`: columns, or with "
        "Iceberg also transforms, such as `day(created_at), bucket(16, id)`. Use columns of the "
        "primary key.",
    )
    cluster_by: PassThrough = pass_through(
        "cluster.by.",
        doc="Clustering of a new table, by `cluster.by.KEYSPACE.TABLE`: columns of Delta's liquid "
        "clustering, or Iceberg's write order.",
    )

    @classmethod
    def existing(cls, format_: str, target: str | None) -> "TargetOptions | None":
        """The options of existing tables; None without a target."""
        return None if target is None else cls.model_validate({"format": format_, "target": target})

    @model_validator(mode="after")
    def _layout_is_possible(self) -> "TargetOptions":
        both = sorted(self.partition_by.keys() & self.cluster_by.keys())
        if self.format == "delta" and both:
            raise ValueError(
                f"`partition.by.{both[0]}` and `cluster.by.{both[0]}` are both set, but a Delta "
                "table can have only one of them"
            )
        if self.iceberg_deletes == "equality" and (self.format == "delta" or self.partition_by):
            raise ValueError(
                "`iceberg.deletes=equality` needs `format=iceberg` and no `partition.by.*`"
            )
        return self

    def target_name(self, full_name: str) -> tuple[str, ...]:
        """The parts of the name of a table: a path, or catalog, namespaces and table."""
        if self.format == "delta":
            return ("/".join((self.target.rstrip("/"), *full_name.split("."))),)
        return (*self.target.split("."), *full_name.split("."))


# A pydantic model orders its fields by its bases, from the last to the first.
class TablesJobOptions(TargetOptions, FollowOptions):
    job: ClassVar[str] = "tables"

    @model_validator(mode="after")
    def _target_is_separate(self) -> "TablesJobOptions":
        if self.format == "delta":
            others = {"output": self.output, "checkpoint": self.checkpoint}
            require_separate("target", self.target, others)
        return self


class TypedTableOptions(TargetOptions, SessionOptions):
    """Options of a command for typed tables."""

    tables: TableList = prop(
        "tables", min_length=1, doc="Tables, as `keyspace.table`, separated by commas."
    )


class ExpireOptions(TypedTableOptions):
    retain_s: Seconds = prop(
        "retain.seconds",
        default=_WEEK_S,
        ge=3600,
        doc="Age up to which versions stay readable. It must exceed the duration of the longest "
        "query and micro-batch.",
    )


class HistoryOptions(TypedTableOptions):
    limit: Count = prop("limit", default=20, doc="Maximum number of commits per table.")
