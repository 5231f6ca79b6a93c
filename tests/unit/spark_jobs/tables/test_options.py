"""Options of the tables job and its commands."""

import pytest

from sidecar.errors import ConfigError
from spark_jobs.tables.options import ExpireOptions, TablesJobOptions, TargetOptions
from tests.support.spark.options import options_of

JOB = {"checkpoint": "/c", "output": "/versions", "schema.file": "schema.cql", "target": "/tables"}


@pytest.mark.parametrize(
    ("table_format", "target", "name"),
    [
        ("delta", "s3a://lake/tables/", ("s3a://lake/tables/shop/orders",)),
        ("iceberg", "lake", ("lake", "shop", "orders")),
        ("iceberg", "lake.raw", ("lake", "raw", "shop", "orders")),
    ],
)
def test_target_name_follows_format_and_target(
    table_format: str, target: str, name: tuple[str, ...]
) -> None:
    options = options_of(TargetOptions, {"format": table_format, "target": target})
    assert options.target_name("shop.orders") == name


def test_notebook_sets_options_by_field() -> None:
    options = TargetOptions(format="delta", target="/tables")
    assert options == options_of(TargetOptions, {"format": "delta", "target": "/tables"})
    assert options.partition_by == {}


def test_tables_job_topics_are_optional() -> None:
    assert not options_of(TablesJobOptions, JOB).has_source
    broker = {"topics": "a", "kafka.bootstrap.servers": "broker:9092"}
    assert options_of(TablesJobOptions, {**JOB, **broker}).has_source


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"target": "/versions/tables"}, "and `output` overlap"),
        ({"target": "/c"}, "and `checkpoint` overlap"),
        (
            {"partition.by.shop.orders": "day", "cluster.by.shop.orders": "id"},
            "a Delta table can have only one of them",
        ),
        ({"iceberg.format.version": "1"}, "iceberg.format.version"),
        ({"iceberg.deletes": "equality"}, "needs `format=iceberg` and no `partition.by"),
        ({"format": "hudi"}, "format"),
    ],
)
def test_invalid_tables_option_is_rejected(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        options_of(TablesJobOptions, {**JOB, **settings})


def test_table_versions_are_retained_for_at_least_an_hour() -> None:
    settings = {"target": "/tables", "tables": "shop.orders"}
    assert options_of(ExpireOptions, {**settings, "retain.seconds": "7d"}).retain_s == 7 * 86_400
    with pytest.raises(ConfigError, match=r"retain\.seconds"):
        options_of(ExpireOptions, {**settings, "retain.seconds": "5m"})
