"""Options of the job and of its commands."""

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
def test_the_place_of_a_table(table_format: str, target: str, name: tuple[str, ...]) -> None:
    options = options_of(TargetOptions, {"format": table_format, "target": target})
    assert options.target_name("shop.orders") == name


def test_a_notebook_names_options_by_field() -> None:
    options = TargetOptions(format="delta", target="/tables")
    assert options == options_of(TargetOptions, {"format": "delta", "target": "/tables"})
    assert options.partition_by == {}


def test_topics_are_optional() -> None:
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
            "a Delta table has only one of them",
        ),
        ({"iceberg.format.version": "1"}, "iceberg.format.version"),
        ({"iceberg.deletes": "equality"}, "needs `format=iceberg` and no `partition.by"),
        ({"format": "hudi"}, "format"),
    ],
)
def test_mistakes(settings: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        options_of(TablesJobOptions, {**JOB, **settings})


def test_versions_are_kept_for_an_hour_at_least() -> None:
    settings = {"target": "/tables", "tables": "shop.orders"}
    assert options_of(ExpireOptions, {**settings, "retain.seconds": "7d"}).retain_s == 7 * 86_400
    with pytest.raises(ConfigError, match=r"retain\.seconds"):
        options_of(ExpireOptions, {**settings, "retain.seconds": "5m"})
